# SPDX-License-Identifier: Apache-2.0
"""Showing a ledger's file."""

import json

import msgspec
import pytest
from sample_kit import run

from simulators.github_runner import commands_in
from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.core.record import read_record, write_record
from truegreen.wiring.ledger import FORMATS, read_ledger, shown

TESTS = "import app\n\n\ndef test_good():\n    assert 'yes' == app.ask('good')\n"


@pytest.fixture
def record(repository, environment):
    """A ledger of five passes."""
    return run(repository({"tests/llm/test_model.py": TESTS}), environment, runs=5).path


def test_the_text_says_what_five_of_five_prove(record):
    """Lane, run, rule, then the summary."""
    lines = shown(record, "text").splitlines()
    assert lines[0].startswith("lane model-tests, a working copy, ")
    assert "rule fixed: 5 samples a case" == lines[1]
    expected = (
        "   5/5  tests/llm/test_model.py::test_good  passes: works at least 54 % of the time (95 % sure)"
    )
    assert expected == lines[2]


def test_json_is_versioned_and_names_what_it_is_about(record):
    """For programs."""
    told = json.loads(shown(record, "json"))
    assert ("truegreen/ledger-view/v1", "model-tests", "all", 1) == (
        told["schema"], told["lane"], told["part"], told["attempts"],
    )  # fmt: skip
    assert 40 == len(told["head_sha"])


def test_the_article_s_form_has_its_four_fields(record):
    """As the article's sampler would have written them."""
    assert ["fixture_digest", "runs_per_case", "flaky", "cases"] == list(json.loads(shown(record, "article")))


def test_what_somebody_else_wrote_is_obeyed_nowhere(record):
    """A model's name, a case's owner, whatever the record holds: one line each, and no escape of a terminal."""
    envelope, _ = read_record(record.read_bytes())
    hostile = "m\x1b[31m\n::error::x ##[error]y\u202e"
    body = {**envelope.body, "endpoint": {**envelope.body["endpoint"], "models_served": [hostile]}}
    record.write_bytes(write_record(msgspec.structs.replace(envelope, body=body)))
    for form in FORMATS:
        told = shown(record, form)
        assert all(line.isprintable() for line in told.splitlines())
        assert [] == commands_in(told)
    assert json.loads(shown(record, "json"))


def test_another_kind_is_no_ledger(record):
    """Nor is half a file, or none."""
    envelope, _ = read_record(record.read_bytes())
    other = envelope.__class__(
        **{name: getattr(envelope, name) for name in envelope.__struct_fields__}
        | {"schema": "truegreen/decision/v1"}
    )
    record.write_bytes(write_record(other))
    with pytest.raises(EvidenceProblem) as caught:
        read_ledger(record)
    assert "not-a-ledger" == caught.value.code
    record.write_bytes(write_record(other)[:100])
    with pytest.raises(EvidenceProblem):
        shown(record, "text")
    record.unlink()
    with pytest.raises(ReachProblem):
        shown(record, "text")
