# SPDX-License-Identifier: Apache-2.0
"""The envelope of a record: written once, read strictly."""

import hashlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem
from truegreen.core.record import (
    Envelope,
    Producer,
    artifact_name,
    file_name,
    kind_of,
    read_record,
    write_record,
)
from truegreen.core.subject import Subject

SHA = "0123456789abcdef0123456789abcdef01234567"
RECORD = Envelope(
    schema="truegreen/sample-ledger/v1",
    lane="model-tests",
    part="all",
    subject=Subject(
        repo="acme/app",
        head_repo="acme/app",
        pull_request=7,
        head_sha=SHA,
        base_ref="main",
        base_sha=SHA,
        head_tree=SHA,
        tested_tree=SHA,
        run_id=11,
        run_attempt=2,
        workflow=".github/workflows/truegreen.yml",
        event="pull_request",
    ),
    producer=Producer(name="truegreen", version="0.1", verb="sample"),
    issued_at="2026-11-29T17:00:00Z",
    body={"n": 1},
)


def _bytes(*path, value=None, drop=False):
    """The record's bytes with one place changed or dropped."""
    whole = json.loads(write_record(RECORD))
    inner = whole
    for key in path[:-1]:
        inner = inner[key]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return json.dumps(whole).encode()


def test_a_record_is_known_by_the_bytes_received():
    """Reading gives back what was written, and the digest of exactly these bytes."""
    data = write_record(RECORD)
    assert (RECORD, f"sha256:{hashlib.sha256(data).hexdigest()}") == read_record(data)
    spaced = data + b"\n"
    assert f"sha256:{hashlib.sha256(spaced).hexdigest()}" == read_record(spaced)[1]


def test_writing_is_canonical():
    """No spaces, keys in order, nothing behind the last bracket."""
    data = write_record(RECORD)
    assert (
        json.dumps(json.loads(data), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        == data
    )


ENVELOPE_KEYS = list(Envelope.__struct_fields__)
SUBJECT_KEYS = [field for field in Subject.__struct_fields__ if field != "dirty"]


@pytest.mark.parametrize(
    "path", [(key,) for key in ENVELOPE_KEYS] + [("subject", key) for key in SUBJECT_KEYS]
)
def test_a_missing_key_is_refused(path):
    """A record with a hole is no record, whichever key is gone."""
    with pytest.raises(EvidenceProblem) as caught:
        read_record(_bytes(*path, drop=True))
    assert ("not-a-record", False) == (caught.value.code, caught.value.contradictory)


@pytest.mark.parametrize("path", [("extra",), ("subject", "extra"), ("producer", "extra")])
def test_an_unknown_key_is_refused(path):
    """What the reader does not understand might have changed the meaning."""
    with pytest.raises(EvidenceProblem, match="not-a-record"):
        read_record(_bytes(*path, value=1))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), 1),
        (("lane",), ""),
        (("lane",), "../x"),
        (("lane",), "Model"),
        (("lane",), "a" * 65),
        (("lane",), "a\n"),
        (("part",), "."),
        (("part",), "a/b"),
        (("body",), []),
        (("body",), None),
        (("issued_at",), "2026-11-29"),
        (("issued_at",), "2026-11-29T17:00:00+00:00"),
        (("issued_at",), "2026-11-29T17:00:00.5Z"),
        (("issued_at",), "2026-13-29T17:00:00Z"),
        (("issued_at",), "2026-02-30T17:00:00Z"),
        (("issued_at",), "2026-11-29T24:00:00Z"),
        (("issued_at",), "0000-11-29T17:00:00Z"),
        (("issued_at",), "\u0662026-11-29T17:00:00Z"),
        (("issued_at",), "2026-11-29T17:00:00Z\n"),
        (("subject", "head_sha"), SHA[:7]),
        (("subject", "base_sha"), SHA.upper()),
        (("subject", "head_tree"), ""),
        (("subject", "tested_tree"), SHA + "0"),
        (("subject", "event"), "pull_request_target"),
        (("subject", "run_id"), -1),
        (("subject", "run_id"), True),
        (("subject", "run_id"), "11"),
        (("subject", "run_id"), 1.5),
        (("subject", "run_attempt"), 0),
        (("subject", "pull_request"), "7"),
        (("subject", "dirty"), "no"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused(path, value):
    """Each with the code of the envelope and one lower-case line."""
    with pytest.raises(EvidenceProblem) as caught:
        read_record(_bytes(*path, value=value))
    assert "not-a-record" == caught.value.code
    assert caught.value.message[0].islower()


@given(st.binary(max_size=200))
def test_whatever_the_bytes_the_answer_is_a_record_or_a_problem(data):
    """No other exception leaves the reader."""
    with pytest.raises(EvidenceProblem):
        read_record(data)


@given(cut=st.integers(min_value=0, max_value=len(write_record(RECORD)) - 1))
def test_a_record_that_was_cut_is_refused(cut):
    """At every byte."""
    with pytest.raises(EvidenceProblem):
        read_record(write_record(RECORD)[:cut])


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    )
)
def test_a_body_comes_back_as_it_was(value):
    """The envelope does not touch what belongs to the kind."""
    record = msgspec.structs.replace(RECORD, body={"value": value})
    assert record == read_record(write_record(record))[0]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("truegreen/sample-ledger/v1", ("sample-ledger", 1)),
        ("truegreen/decision/v12", ("decision", 12)),
        ("truegreen/decision/v0", None),
        ("truegreen/decision/v01", None),
        ("truegreen/decision", None),
        ("other/decision/v1", None),
        ("truegreen/Decision/v1", None),
        ("truegreen/decision/v1\n", None),
        ("truegreen/decision/v1\u0662", None),
        ("", None),
    ],
)
def test_a_schema_names_kind_and_version(schema, expected):
    """Or nothing of ours."""
    assert expected == kind_of(schema)


def test_names_hold_lane_part_and_attempt():
    """A file and its artifact say whose they are; the attempt keeps two of them apart."""
    assert "model-tests.all.2.truegreen.json" == file_name("model-tests", "all", 2)
    assert "truegreen.model-tests.all.2" == artifact_name("model-tests", "all", 2)
