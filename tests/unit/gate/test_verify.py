# SPDX-License-Identifier: Apache-2.0
"""Each evidence file has one standing: accepted, stale, refused, blocked or a note."""

import json

import msgspec
import pytest

from truegreen.core.record import write_record
from truegreen.gate.decide import RULES
from truegreen.gate.intake import Evidence, EvidenceFile
from truegreen.gate.verify import CHECKS, verify
from truegreen.wiring.rehearsal.tricks import record_of


@pytest.fixture
def stands(actors, ground):
    """(standing, code) of bytes as the only file."""

    def read(data):
        file = EvidenceFile(container="artifact", name="one.truegreen.json", data=data)
        [seen] = verify(Evidence(files=(file,)), ground(), RULES.kinds).files
        return seen.standing, seen.code

    return read


@pytest.fixture
def honest_bytes(actors):
    """The honest record, with changes to its envelope."""
    return lambda **changes: write_record(msgspec.structs.replace(record_of(actors), **changes))


def test_the_honest_record_is_accepted(stands, honest_bytes):
    """Nothing speaks against it."""
    assert ("accepted", "") == stands(honest_bytes())


def test_white_space_is_no_lie(stands, honest_bytes):
    """The record is known by its bytes, and JSON allows this."""
    indented = json.dumps(json.loads(honest_bytes()), indent=2).encode()
    assert ("accepted", "") == stands(indented)


@pytest.mark.parametrize(
    ("schema", "code"),
    [
        ("truegreen/sample-ledger/v2", "unknown-schema"),
        ("truegreen/shard-manifest/v1", "unknown-schema"),
        ("elsewhere/sample-ledger/v1", "unknown-schema"),
        ("truegreen/run-index/v1", "unknown-schema"),
    ],
)
def test_a_schema_that_this_version_does_not_read_is_refused(stands, honest_bytes, schema, code):
    """Later versions, later kinds, and files that are no records."""
    assert ("refused", code) == stands(honest_bytes(schema=schema))


def test_an_earlier_decision_is_a_note(stands, honest_bytes):
    """A gate that left its own record beside is no evidence."""
    assert ("note", "decision-beside") == stands(honest_bytes(schema="truegreen/decision/v1"))


def test_a_lane_that_base_lacks_is_a_note(stands, honest_bytes):
    """The change may bring a new lane; only base's lanes count."""
    assert ("note", "unknown-lane") == stands(honest_bytes(lane="brought-along"))


def test_a_body_that_the_schema_refuses_holds_whatever_lane_it_names(stands, honest_bytes):
    """A lane that base lacks cannot carry bytes that nobody can read."""
    assert ("refused", "schema-refused") == stands(honest_bytes(lane="brought-along", body={}))


@pytest.mark.parametrize(
    ("data", "standing", "code"),
    [
        (b"", "refused", "unreadable"),
        (b"{", "refused", "unreadable"),
        (b"\xef\xbb\xbf{}", "refused", "unreadable"),
        (b'{"a": 1, "a": 1}', "blocked", "duplicate-key"),
        (b"[]", "refused", "unreadable"),
    ],
)
def test_bytes_that_are_no_record(stands, data, standing, code):
    """Unreadable holds; what says two things blocks."""
    assert (standing, code) == stands(data)


def test_the_first_check_that_speaks_decides(stands, honest_bytes, actors):
    """Foreign before stale: a stale record of another repository is another repository's."""
    about = msgspec.structs.replace(record_of(actors).subject, repo="example/elsewhere", dirty=True)
    assert ("blocked", "foreign-repo") == stands(honest_bytes(subject=about))


def test_every_check_has_a_name_of_its_own():
    """A test can take each of them away."""
    assert len(CHECKS) == len({check.__name__ for check in CHECKS})


def test_files_keep_the_order_of_the_evidence(actors, ground, honest_bytes):
    """The decision lists them as they lay there."""
    files = tuple(
        EvidenceFile(container="artifact", name=name, data=honest_bytes()) for name in ("b", "a", "c")
    )
    found = verify(Evidence(files=files), ground(), RULES.kinds)
    assert ["b", "a", "c"] == [seen.name for seen in found.files]
    assert 3 == len(found.accepted) == len(found.readable)
