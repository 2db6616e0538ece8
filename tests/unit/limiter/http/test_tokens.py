# SPDX-License-Identifier: Apache-2.0
"""Bearer tokens: which files are taken, whom a token speaks for, and that none is ever shown."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import UsageProblem
from truegreen.limiter.http.tokens import MAX_BYTES, read_tokens

ONE = "one-" + "a" * 32
TWO = "two-" + "b" * 32


@pytest.fixture
def file(tmp_path):
    """Writes a token file with the permissions that it should have."""

    def write(text, mode=0o600):
        path = tmp_path / "tokens"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    return write


def test_a_token_speaks_for_its_tenant(file):
    """As it stands or as its digest, with several per tenant, the operator among them."""
    digest = hashlib.sha256(TWO.encode()).hexdigest()
    tokens = read_tokens(file(f"# team tokens\n\nteam-a {ONE}\nteam-a sha256:{digest}\r\n* op-{'c' * 40}\n"))
    assert "team-a" == tokens.tenant_of(f"Bearer {ONE}")
    assert "team-a" == tokens.tenant_of(f"bearer  {TWO} ")
    assert "*" == tokens.tenant_of(f"Bearer op-{'c' * 40}")
    assert frozenset({"team-a"}) == tokens.tenants


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        ONE,
        f"Basic {ONE}",
        f"Bearer {ONE[:-1]}",
        f"Bearer {ONE}x",
        f"Bearer {ONE} x",
    ],
)
def test_anything_else_speaks_for_nobody(file, header):
    """No header, another scheme, half a token, a token and more."""
    assert read_tokens(file(f"team-a {ONE}\n")).tenant_of(header) is None


def test_a_digest_is_no_token(file):
    """Whoever reads the digests cannot ask with them."""
    digest = hashlib.sha256(ONE.encode()).hexdigest()
    tokens = read_tokens(file(f"team-a sha256:{digest}\n"))
    assert [None, None] == [tokens.tenant_of(f"Bearer {text}") for text in (digest, f"sha256:{digest}")]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o660, 0o620, 0o601])
def test_a_file_that_others_may_read_is_refused(file, mode):
    """Readable by all or writable by the group; readable by the group is what service managers make."""
    with pytest.raises(UsageProblem, match=f"{mode:04o}") as caught:
        read_tokens(file(f"team-a {ONE}\n", mode))
    assert "tokens-open-to-others" == caught.value.code
    assert read_tokens(file(f"team-a {ONE}\n", 0o440)).tenants


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "holds no token"),
        ("# nobody\n", "holds no token"),
        (f"{ONE}\n", "line 1"),
        (f"team-a {ONE} x\n", "3 words"),
        (f"# c\nteam/a {ONE}\n", "line 2"),
        (f"{'a' * 65} {ONE}\n", "over 64"),
        ("team-a short\n", "5 characters"),
        (f"team-a {'a' * 257}\n", "257 characters"),
        (f"team-a {ONE}\nteam-b {ONE}\n", "team-a's too"),
        (f"team-a {ONE}ü\n", "not ASCII"),
        (f"\ufeffteam-a {ONE}\n", "not ASCII"),
        ("#" * (MAX_BYTES + 1), "longer than"),
    ],
)
def test_a_file_with_anything_else_is_refused_whole(file, text, told):
    """With the line's number, never with the token."""
    with pytest.raises(UsageProblem, match="bad-tokens") as caught:
        read_tokens(file(text))
    assert told in str(caught.value)
    assert ONE not in str(caught.value) + caught.value.hint


def test_a_file_that_is_not_there_is_named(tmp_path):
    """Exit 2: the caller named it."""
    with pytest.raises(UsageProblem, match="No such file") as caught:
        read_tokens(tmp_path / "tokens")
    assert "tokens-unreadable" == caught.value.code


def test_no_token_is_shown(file):
    """A log line or a traceback with the object in it holds no token and no digest."""
    tokens = read_tokens(file(f"team-a {ONE}\n"))
    assert "<1 tokens>" == repr(tokens) == str(tokens)


@given(st.text(max_size=300))
def test_no_header_breaks_it(header):
    """Whatever stands in the header, the answer is a tenant or nobody."""
    from truegreen.limiter.http.tokens import Tokens

    tokens = Tokens(((hashlib.sha256(ONE.encode()).digest(), "team-a"),))
    assert tokens.tenant_of(header) in {None, "team-a"}
    assert tokens.tenant_of(f"Bearer {header}") in {None, "team-a"}
