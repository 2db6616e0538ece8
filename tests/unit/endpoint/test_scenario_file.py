# SPDX-License-Identifier: Apache-2.0
"""Scenario files are read strictly, and each fault is shown with its line."""

import json

import pytest

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.endpoint.scenario import Allowance, Fault, Latency, PrefixCache, ResponseCache
from truegreen.endpoint.scenario_file import load_scenario, read_scenario

HEAD = 'schema = "truegreen/scenario/v1"\nseed = "s"\n'
RULE = '[[rules]]\nid = "a"\nanswer = "x"\n'
FULL = """\
schema = "truegreen/scenario/v1"
seed = "night"
models = ["m-1", "m-2"]
served = "m-1-0901"
fingerprint = "fp_1"
piece_chars = 4

[[rules]]
id = "german"
when = { contains = "Änderungen", model = "m-1", pattern = "v\\\\d" }
pass = 0.8
refuse = 0.05
truncate = 0.05
answer = { breaking = [], added = ["é"], count = 2, ok = true, share = 0.5 }
fails = ["no JSON", [1, 2]]
served = "m-1-other"
latency = { law = "lognormal", ms = 120, sigma = 0.3, fail_factor = 3, piece_ms = 5 }
prefix_cache = { tokens = 64, share = 0.5 }
response_cache = { share = 0.1, silent = true, repeats_request_id = false }

[[rules.faults]]
kind = "status"
status = 429
first = 2
per = "prompt"
retry_after = "1"

[[rules.faults]]
kind = "cut"
at = "midway"
share = 0.02

[[rules]]
id = "rest"
answer = ""
"""


def _problem(text):
    with pytest.raises(UsageProblem) as caught:
        read_scenario(text.encode(), "s.toml")
    return caught.value.code, caught.value.message


def test_every_key_reaches_the_scenario():
    """Nothing that can be written is read and then ignored."""
    scenario = read_scenario(FULL.encode(), "s.toml")
    assert ("night", ("m-1", "m-2"), "m-1-0901", "fp_1", 4) == (
        scenario.seed,
        scenario.models,
        scenario.served,
        scenario.fingerprint,
        scenario.piece_chars,
    )
    german, rest = scenario.rules
    assert ("Änderungen", "m-1", r"v\d") == (
        german.when.contains,
        german.when.model,
        german.when.pattern.pattern,
    )
    assert (0.8, 0.05, 0.05, "m-1-other") == (
        german.pass_rate,
        german.refuse_rate,
        german.truncate_rate,
        german.served,
    )
    assert {"breaking": [], "added": ["é"], "count": 2, "ok": True, "share": 0.5} == json.loads(german.answer)
    assert ("no JSON", "[1, 2]") == german.fails
    assert Latency(law="lognormal", ms=120, sigma=0.3, fail_factor=3, piece_ms=5) == german.latency
    assert PrefixCache(tokens=64, share=0.5) == german.prefix_cache
    assert ResponseCache(share=0.1, header="", repeats_request_id=False) == german.response_cache
    assert (
        Fault(kind="status", status=429, first=2, per="prompt", retry_after="1"),
        Fault(kind="cut", at="midway", share=0.02),
    ) == german.faults
    assert ("rest", "", 1.0, ()) == (rest.id, rest.answer, rest.pass_rate, rest.faults)


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("", "bad-scenario", 's.toml: schema is missing, asked "truegreen/scenario/v1"'),
        ('schema = "x"', "bad-scenario", 's.toml:1: schema is "x", asked "truegreen/scenario/v1"'),
        ("seed = ", "bad-toml", None),
        (
            HEAD + "limits = {}\n" + RULE,
            "bad-scenario",
            "s.toml:3: limits has neither per_s nor in_flight, asked at least one of them",
        ),
        (
            HEAD + "limits = { in_flight = 2, burst = 3 }\n" + RULE,
            "bad-scenario",
            "s.toml:3: burst is of per_s, and there is no per_s",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "status", first = 1, retry_after = "1", retry_in_s = 1 }]\n',
            "bad-scenario",
            "s.toml:6: a wait is told by retry_after or by retry_in_s, not by both",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "status", first = 1, retry_as = "none" }]\n',
            "bad-scenario",
            "s.toml:6: retry_as is the form of retry_in_s, and there is none",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "hang", first = 1, retry_in_s = 1 }]\n',
            "bad-scenario",
            "s.toml:6: retry_in_s is no key of a fault of kind hang",
        ),
        (HEAD, "bad-scenario", "s.toml: rules is missing, asked at least one [[rules]]"),
        (HEAD + "rules = []", "bad-scenario", "s.toml:3: rules is a list of 0, asked tables, at least one"),
        (HEAD + "rules = 7", "bad-scenario", "s.toml:3: rules is 7, asked tables, at least one"),
        (
            HEAD + RULE + 'anwser = "y"\n',
            "bad-scenario",
            "s.toml:6: rules[0].anwser is no key of a scenario; did you mean answer?",
        ),
        (HEAD + "speed = 1\n" + RULE, "bad-scenario", "s.toml:3: speed is no key of a scenario; did you mean seed?"),
        (
            HEAD + RULE + "latency = { ms = 1, lw = 2 }\n",
            "bad-scenario",
            "s.toml:6: rules[0].latency.lw is no key of a scenario; did you mean law?",
        ),
        (HEAD + RULE + "latency = 3\n", "bad-scenario", "s.toml:6: rules[0].latency is 3, asked a table"),
        (
            HEAD + '[[rules]]\nid = "a"\n',
            "bad-scenario",
            "s.toml:3: rules[0].answer is missing, asked an answer: a text, or a table or list to be written as JSON",
        ),
        (HEAD + RULE + "pass = 1.5\n", "bad-scenario", "s.toml:6: rules[0].pass is 1.5, asked a number from 0 to 1"),
        (HEAD + RULE + "pass = true\n", "bad-scenario", "s.toml:6: rules[0].pass is true, asked a number from 0 to 1"),
        (HEAD + RULE + "pass = nan\n", "bad-scenario", "s.toml:6: rules[0].pass is nan, asked a number from 0 to 1"),
        (
            HEAD + RULE + "pass = 0.5\n",
            "bad-scenario",
            "s.toml:3: fails is missing: 0.5 of the samples fail and have no answer",
        ),
        (
            HEAD + RULE + "pass = 0.9\nrefuse = 0.2\n",
            "bad-scenario",
            "s.toml:6: pass, refuse and truncate sum to 1.1, asked no more than 1",
        ),
        (
            HEAD + RULE + "refuse = 0.2\n",
            "bad-scenario",
            "s.toml:3: pass is missing, asked a number from 0 to 1 beside refuse, truncate or fails",
        ),
        (
            HEAD + RULE + 'pass = 1\nfails = ["y"]\n',
            "bad-scenario",
            "s.toml:7: fails can never be an answer: pass, refuse and truncate sum to 1",
        ),
        (HEAD + RULE + RULE, "bad-scenario", 's.toml:6: rule "a" can never answer: rule "a" before it matches everything'),
        (
            HEAD + RULE + 'when = { contains = "q" }\n' + RULE,
            "bad-scenario",
            's.toml:8: the id "a" is used twice',
        ),
        (
            HEAD + RULE + 'when = { pattern = "(" }\n',
            "bad-scenario",
            's.toml:6: rules[0].when.pattern is "(", asked a regular expression: missing ), unterminated subpattern at position 0',
        ),
        (
            HEAD + RULE + 'pass = 0\nfails = ["y", 2]\n',
            "bad-scenario",
            "s.toml:7: rules[0].fails[1] is 2, asked an answer: a text, or a table or list to be written as JSON",
        ),
        (
            HEAD + '[[rules]]\nid = "a"\nanswer = { at = 2026-11-29 }\n',
            "bad-scenario",
            "s.toml:5: rules[0].answer is a table, asked an answer: a text, or a table or list to be written as JSON",
        ),
        (
            HEAD + '[[rules]]\nid = "a"\nanswer = [inf]\n',
            "bad-scenario",
            "s.toml:5: rules[0].answer is a list of 1, asked an answer: a text, or a table or list to be written as JSON",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "cut" }]\n',
            "bad-scenario",
            "s.toml:6: a fault has a share or a first, not both and not neither",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "cut", share = 0.1, first = 2 }]\n',
            "bad-scenario",
            "s.toml:6: a fault has a share or a first, not both and not neither",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "cut", share = 0.1, per = "prompt" }]\n',
            "bad-scenario",
            "s.toml:6: per is what first counts by, and there is no first",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "cut", share = 0.1, status = 500 }]\n',
            "bad-scenario",
            "s.toml:6: status is no key of a fault of kind cut",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "status", share = 0.1, status = 200 }]\n',
            "bad-scenario",
            "s.toml:6: rules[0].faults[0].status is 200, asked a whole number from 400 to 599",
        ),
        (
            HEAD + RULE + 'faults = [{ kind = "status", share = 1, retry_after = "1\\r\\nX: y" }]\n',
            "bad-scenario",
            's.toml:6: rules[0].faults[0].retry_after is "1\\x0d\\x0aX: y", asked the value of a header',
        ),
        (
            HEAD + RULE + 'response_cache = { share = 1, header = "X" }\n',
            "bad-scenario",
            's.toml:6: rules[0].response_cache.header is "X", asked a header, such as X-Cache: HIT',
        ),
        (
            HEAD + 'models = ["a", 2]\n' + RULE,
            "bad-scenario",
            "s.toml:3: models[1] is 2, asked a name",
        ),
    ],
)  # fmt: skip
def test_each_fault_of_a_file_is_shown_with_its_line(text, code, message):
    """What was found, what is asked, and where."""
    found = _problem(text)
    assert code == found[0]
    if message is not None:
        assert message == found[1]


def test_limits_and_waits_reach_the_scenario():
    """Each key of them."""
    text = (
        HEAD + 'limits = { per_s = 2.5, burst = 3, in_flight = 4, retry_as = "imf-date" }\n' + RULE
        + 'faults = [{ kind = "status", first = 1, retry_in_s = 1.5, retry_as = "milliseconds", should_retry = "false" }]\n'
    )  # fmt: skip
    scenario = read_scenario(text.encode(), "s.toml")
    assert Allowance(per_s=2.5, burst=3, in_flight=4, retry_as="imf-date") == scenario.allowance
    assert (
        Fault(kind="status", first=1, retry_in_s=1.5, retry_as="milliseconds", should_retry="false"),
    ) == scenario.rules[0].faults


def test_the_first_fault_of_a_file_is_the_one_that_is_shown():
    """In the order of lines, so that mending from the top gets on."""
    code, message = _problem(HEAD + RULE + "pass = 7\nserved = 3\n")
    assert ("bad-scenario", True) == (code, message.startswith("s.toml:6:"))


def test_a_file_that_is_not_there_is_said(tmp_path):
    """Neither a missing file nor a folder shows a traceback."""
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(ReachProblem) as caught:
            load_scenario(path)
        assert "unreadable-scenario" == caught.value.code


def test_a_file_above_the_limit_is_refused(tmp_path):
    """It is not read to its end first."""
    path = tmp_path / "big.toml"
    path.write_bytes(b"#" * 300_000)
    with pytest.raises(UsageProblem) as caught:
        load_scenario(path)
    assert "bad-toml" == caught.value.code
