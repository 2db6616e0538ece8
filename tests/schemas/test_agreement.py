# SPDX-License-Identifier: Apache-2.0
"""Schema and reader take the same values and refuse the same, whatever is asked of them.

What a reader refuses beyond its schema is said here, one rule each.
"""

import datetime as dt
import json

import from_schema
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.contract_check import ContractCheckBody
from truegreen.core.baseline import read_baseline, read_removed
from truegreen.core.canonical import write_json
from truegreen.core.decision import Decision
from truegreen.core.errors import TruegreenProblem
from truegreen.core.index import read_index
from truegreen.core.policy import KindFacts
from truegreen.core.policy_read import read_policy
from truegreen.core.record import read_record
from truegreen.core.replay_session import read_session
from truegreen.core.schema import HOMES, schema, validate
from truegreen.quarantine.entries import read_quarantine
from truegreen.sampling.ledger import LedgerBody

NO_RUSH = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def _toml(value, *, of_dates=()):
    """A TOML text that means ``value``; a text of a field in ``of_dates`` is written without quotes."""
    if not isinstance(value, dict):
        raise _NotTomlError
    lines = [f"{_quoted(name)} = {_value(inner, of_dates, name)}" for name, inner in value.items()]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _quoted(text):
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value, of_dates, name=""):
    if value is None:
        raise _NotTomlError
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)} = {_value(v, of_dates, k)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_value(inner, of_dates) for inner in value) + "]"
    if isinstance(value, str) and name in of_dates and _is_date(value):
        return value
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _is_date(text):
    try:
        dt.datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


class _NotTomlError(Exception):
    """TOML has no null, and a document is a table."""


def _ledger(value):
    msgspec.convert(value, LedgerBody, strict=True)


def _cassette(value):
    msgspec.convert(value, Cassette, strict=True)


def _contract_check(value):
    msgspec.convert(value, ContractCheckBody, strict=True)


def _decision(value):
    msgspec.convert(value, Decision, strict=True)


KINDS = {"sample-ledger": KindFacts(model_backed=False, built=True)}
READERS = {
    "cassette.v1": _cassette,
    "baseline.v1": lambda value: read_baseline(write_json(value)),
    "contract-check.v1": _contract_check,
    "decision.v1": _decision,
    "policy.v1": lambda value: read_policy(_toml(value), kinds=KINDS),
    "replay-session.v1": lambda value: read_session(write_json(value)),
    "quarantine.v1": lambda value: read_quarantine(_toml(value, of_dates=("since", "expires"))),
    "record.v1": lambda value: read_record(write_json(value)),
    "removed.v1": lambda value: read_removed(_toml(value)),
    "run-index.v1": lambda value: read_index(write_json(value)),
    "sample-ledger.v1": _ledger,
}
"""What reads a value of each schema."""

ONLY_THE_READER = {
    "cassette.v1": [],
    "baseline.v1": ["are not sorted"],
    "contract-check.v1": [],
    "decision.v1": [],
    "policy.v1": ["does nothing for the kind"],
    "quarantine.v1": ["asked later than its start", "stands twice", "no year in UTC"],
    "record.v1": [],
    "removed.v1": ["stands twice"],
    "replay-session.v1": [],
    "run-index.v1": ["which do not count from 1", "runs but"],
    "sample-ledger.v1": [],
}
"""Rules that no schema can say: the words of the reader's refusal."""

ONLY_THE_SCHEMA = {
    "cassette.v1": "cassette.v1 at ",
    "record.v1": "record.v1 at schema:",  # a kind that nobody knows: the gate has its own words for it
    "contract-check.v1": "contract-check.v1 at ",
    "decision.v1": "decision.v1 at ",
    "sample-ledger.v1": "sample-ledger.v1 at ",
}
"""What the schema refuses beyond the type; the gate asks the schema first, then the type."""


def _refusal(function, *arguments):
    try:
        function(*arguments)
    except (TruegreenProblem, msgspec.ValidationError) as err:
        return str(err)
    return ""


def _agree(name, value):
    by_schema = _refusal(validate, name, value)
    try:
        by_reader = _refusal(READERS[name], value)
    except _NotTomlError:
        by_reader = "TOML has no null"
    if by_reader and not by_schema:
        assert any(words in by_reader for words in ONLY_THE_READER[name]), by_reader
    if by_schema and not by_reader:
        assert by_schema.startswith(ONLY_THE_SCHEMA.get(name, "nothing")), by_schema


def test_every_schema_is_asked():
    """None is left out, and none is missing in the package."""
    assert set(HOMES) == set(READERS) == set(ONLY_THE_READER)


FROM_SCHEMA = sorted(set(HOMES) - {"policy.v1", "quarantine.v1"})


@pytest.mark.parametrize("name", FROM_SCHEMA)
@NO_RUSH
@given(data=st.data())
def test_what_the_schema_allows_is_read(name, data):
    """Values that are made from the schema itself."""
    value = data.draw(from_schema.values(schema(name)))
    assert "" == _refusal(validate, name, value)
    _agree(name, value)


@pytest.mark.parametrize("name", FROM_SCHEMA)
@NO_RUSH
@given(data=st.data())
def test_a_change_is_refused_by_both_or_by_none(name, data):
    """A field dropped, added, or another value in its place."""
    _agree(name, data.draw(from_schema.changed(from_schema.values(schema(name)))))


NAMES = st.sampled_from(["a", "main", "x y", "é"])
PATHS = st.sampled_from(["tests/llm", "a", "a b/é.py"])
PATTERNS = st.lists(st.sampled_from(["docs/**", "*.md", "/a", "b/"]), max_size=2, unique=True)
GOOD_LANE = st.fixed_dictionaries(
    {"tests": PATHS},
    optional={
        "kind": st.just("sample-ledger"),
        "role": st.sampled_from(["required", "consulted", "advisory"]),
        "rule": st.sampled_from(["smoke", "fixed"]),
        "samples": st.integers(1, 500),
        "cap": st.integers(6, 500),
        "irrelevant": PATTERNS,
        "ruler": PATTERNS,
        "runs": st.sampled_from(["this", "same-tree"]),
        "formats": st.just(["truegreen/v1"]),
        "job": NAMES,
        "workflow": st.just(".github/workflows/a.yaml"),
        "max_calls": st.integers(1, 99),
        "max_minutes": st.sampled_from([1, 0.5, 1440]),
        "timeout_s": st.sampled_from([1, 0.5, 3600]),
        "concurrency": st.integers(1, 256),
        "allow_removed": st.integers(0, 3),
        "owner": NAMES,
    },
)
GOOD_POLICY = st.fixed_dictionaries(
    {
        "schema": st.just("truegreen/policy/v1"),
        "lanes": st.dictionaries(
            st.sampled_from(["a", "a.b", "model-tests"]), GOOD_LANE, min_size=1, max_size=2
        ),
    },
    optional={
        "limiter": st.fixed_dictionaries(
            {
                "owner": NAMES,
                "rate": st.sampled_from(["12/min", "1/s"]),
                "tokens_per_minute": st.integers(1, 9),
            },
            optional={
                "host": NAMES,
                "backend": st.sampled_from(["file:/tmp/x", "https://h:1", "redis://h/0"]),
                "capacity": st.integers(1, 10),
                "burst": st.integers(1, 10),
                "start": st.sampled_from(["full", "empty"]),
                "token_burst": st.integers(1, 10),
                "lease_s": st.sampled_from([1, 0.5]),
                "wait_s": st.sampled_from([1, 0.5]),
                "on_unreachable": st.sampled_from(["closed", "divide"]),
                "shares": st.integers(1, 9),
            },
        ),
        "mode": st.sampled_from(["observe", "enforce"]),
        "harness": PATTERNS,
        "max_quarantined": st.integers(0, 1000),
        "max_quarantine_days": st.integers(1, 366),
        "check": st.fixed_dictionaries(
            {},
            optional={"name": NAMES, "branches": st.just(["main", "v1/x"]), "topology": st.just("editable")},
        ),
    },
)
BAD = st.sampled_from(
    [
        "x",
        "",
        " a",
        "..",
        "/a/",
        "!a",
        "standard",
        "ed25519",
        "junit",
        "refs/x",
        -1,
        0,
        501,
        4000,
        True,
        0.5,
        [],
        ["a", "a"],
        ["x", 1],
        {},
        {"a": 1},
    ]
)


@given(policy=GOOD_POLICY)
def test_a_good_policy_is_taken_by_both(policy):
    """Unless none of its lanes is required."""
    roles = {lane.get("role", "required") for lane in policy["lanes"].values()}
    refused = "" if "required" in roles else "policy.v1 at lanes: "
    assert _refusal(validate, "policy.v1", policy)[: len("policy.v1 at lanes: ")] == refused
    _agree("policy.v1", policy)


@given(data=st.data())
def test_a_changed_policy_is_refused_by_both_or_by_none(data):
    """What is not built is refused by the schema too."""
    policy = data.draw(GOOD_POLICY)
    if data.draw(st.booleans()):
        _agree("policy.v1", data.draw(from_schema.changed(st.just(policy))))
        return
    table = data.draw(st.sampled_from([policy, policy.get("check", policy), *policy["lanes"].values()]))
    names = [
        *table,
        *schema("policy.v1")["properties"]["lanes"]["additionalProperties"]["properties"],
        "limiter",
        "bank",
    ]
    table[data.draw(st.sampled_from(names))] = data.draw(BAD)
    _agree("policy.v1", policy)


WORDS = st.sampled_from(["a", "@ana", "#1", "x y"] * 3 + ["", " ", "a\n"])
FEW = st.one_of(WORDS, st.integers(-1, 2), st.booleans(), st.lists(WORDS, max_size=2))
TIMES = st.sampled_from(
    [
        "2026-11-01",
        "2026-12-01",
        "2026-12-01T09:00:00Z",
        "2026-12-01T09:00:00+02:00",
        "2026-12-01T09:00:00",
        "2026-12-01T09:00:00.5Z",
        "9999-12-31T23:59:59-01:00",
        "soon",
        "",
    ]
)
ENTRIES = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a.py::t", "a.py::t[x]", "a.ts > b"] * 3 + ["a.py", "*::a", ""]),
        "lane": st.sampled_from(["a", "b", "b", "A"]),
        "owner": WORDS,
        "reason": WORDS,
        "ticket": WORDS,
        "since": TIMES,
        "expires": TIMES,
    },
    optional={"note": FEW, "x": FEW},
)


@given(
    schema_word=st.sampled_from(["truegreen/quarantine/v1"] * 5 + ["truegreen/quarantine/v2"]),
    entries=st.lists(ENTRIES, max_size=2) | FEW,
    change=st.data(),
)
def test_a_quarantine_is_refused_by_both_or_by_none(schema_word, entries, change):
    """Dates stand as texts where TOML is shown as JSON."""
    value = {"schema": schema_word, "entry": entries}
    if change.draw(st.booleans()):
        value = change.draw(from_schema.changed(st.just(value)))
    if isinstance(value, dict):
        _agree("quarantine.v1", value)


def test_schema_and_reader_agree_on_what_is_blank():
    """White space is more than the engines of regular expressions agree on."""
    asked = [chr(number) for number in (*range(0xD800), *range(0xE000, 0x10000))]
    blank = [char for char in asked if not char.strip()]
    near = [*blank, "\u180e", "\u200b", "\u2060", "\ufeff", "x"]
    entry = {"id": "a", "lane": "l", "reason": "r"}
    refused = [
        char
        for char in near
        if _refusal(
            validate,
            "removed.v1",
            {"schema": "truegreen/removed/v1", "removed": [{**entry, "owner": char}]},
        )
    ]
    assert blank == refused
