# SPDX-License-Identifier: Apache-2.0
"""Whose recordings count: every difference from the base is vouched for or named."""

import pytest

from truegreen.cassettes.provenance import Vouchers, is_seal, unvouched
from truegreen.core.digest import sha256_of
from truegreen.core.ports import FileChange, TreeEntry

OLD, NEW, OTHER = "1" * 40, "2" * 40, "3" * 40
DIGESTS = {oid: sha256_of(oid.encode()) for oid in (OLD, NEW, OTHER)}


def entry(path="c/a.json", oid=NEW, mode="100644"):
    """A file of a tree."""
    return TreeEntry(path=path, mode=mode, oid=oid)


def change(author="ana@x.org", oid=NEW, path="c/a.json", commit="d" * 40):
    """What a commit left of a file."""
    return FileChange(commit=commit, author=author, path=path, oid=oid)


def told(before, after, changes=(), **vouchers):
    """(path, author, removed) of what nobody vouches for."""
    found = unvouched("c", before, after, changes, DIGESTS, Vouchers(**vouchers))
    return [(one.path, one.author, one.is_removed) for one in found]


ANA = {"authors": ("Ana@X.org",)}


def test_what_base_holds_is_trusted():
    """Nothing changed, nothing asked; what lies elsewhere is not looked at."""
    assert [] == told([entry()], [entry(), entry("cc/b.json"), entry("b.json")])


def test_a_listed_author_vouches_for_what_the_commit_left():
    """Letter case of the address does not matter."""
    assert [] == told([], [entry()], [change()], **ANA)
    assert [] == told([entry(oid=OLD)], [entry()], [change()], **ANA)


def test_an_unlisted_author_is_named():
    """The last commit that touched the file is told."""
    changes = [change("eve@y.org"), change("ana@x.org", oid=OLD)]
    assert [("c/a.json", "eve@y.org", False)] == told([], [entry()], changes, **ANA)


def test_a_listed_author_before_an_unlisted_edit_does_not_help():
    """The bytes that count are those that are there now."""
    assert [("c/a.json", "eve@y.org", False)] == told(
        [], [entry(oid=OTHER)], [change("eve@y.org", oid=OTHER), change()], **ANA
    )


def test_what_only_a_merge_made_is_nobodys():
    """No commit left these bytes, so nobody is asked for them."""
    assert [("c/a.json", "nobody", False)] == told([], [entry()], [], **ANA)
    assert [("c/a.json", "ana@x.org", False)] == told([], [entry(oid=OTHER)], [change()], **ANA)


def test_a_removal_needs_a_listed_author():
    """It shrinks what is replayed; no seal speaks for what is gone."""
    gone = [change("eve@y.org", oid=None)]
    sealed = {"a.json": {DIGESTS[OLD]}}
    assert [("c/a.json", "eve@y.org", True)] == told([entry(oid=OLD)], [], gone, **ANA, sealed=sealed)
    assert [] == told([entry(oid=OLD)], [], [change(oid=None)], **ANA)


def test_a_seal_vouches_for_its_bytes_under_its_name():
    """Whoever committed them; other bytes or another name are not sealed."""
    eve = [change("eve@y.org")]
    assert [] == told([], [entry()], eve, sealed={"a.json": {DIGESTS[NEW]}})
    assert 1 == len(told([], [entry()], eve, sealed={"a.json": {DIGESTS[OLD]}}))
    assert 1 == len(told([], [entry()], eve, sealed={"b.json": {DIGESTS[NEW]}}))


@pytest.mark.parametrize("mode", ["120000", "100755", "160000"])
def test_a_seal_speaks_of_plain_files_only(mode):
    """A link with the sealed bytes as its target is another thing."""
    assert 1 == len(told([], [entry(mode=mode)], [], sealed={"a.json": {DIGESTS[NEW]}}))


def test_seals_need_no_voucher():
    """Each proves itself or proves nothing."""
    assert [] == told([], [entry("c/seals/one.dsse.json")], [])
    assert [True, False, False] == [
        is_seal(path, "c") for path in ("c/seals/a.dsse.json", "c/seals/a.json", "c/a.dsse.json")
    ]


def test_a_changed_contract_needs_a_voucher_too():
    """What judges is changed by whom the base trusts."""
    assert [("c/contracts.toml", "eve@y.org", False)] == told(
        [entry("c/contracts.toml", OLD)],
        [entry("c/contracts.toml")],
        [change("eve@y.org", path="c/contracts.toml")],
        **ANA,
    )
