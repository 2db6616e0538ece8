# SPDX-License-Identifier: Apache-2.0
"""Payload and variables of a GitHub run become facts, or one clear problem."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.core.errors import EvidenceProblem, TruegreenProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.forges.github import bind_github

FIXTURES = Path(__file__).parents[2] / "fixtures" / "github"
HEAD = "4f1d6c0b7a2e9385c1d40e6f8b9a27350c1e4d6f"
BASE = "91ab02c7d3e4f5061728394a5b6c7d8e9f001122"
GROUP = "c0ffee00" * 5
QUEUE = f"refs/heads/gh-readonly-queue/main/pr-42-{BASE}"
COMMON = {
    "GITHUB_REPOSITORY": "harbour/pilot",
    "GITHUB_REPOSITORY_ID": "7301",
    "GITHUB_RUN_ID": "6001",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_WORKFLOW_REF": "harbour/pilot/.github/workflows/truegreen.yml@refs/pull/42/merge",
}
ON_PULL_REQUEST = {
    **COMMON,
    "GITHUB_EVENT_NAME": "pull_request",
    "GITHUB_REF": "refs/pull/42/merge",
    "GITHUB_SHA": "5" * 40,
    "GITHUB_BASE_REF": "main",
    "GITHUB_HEAD_REF": "tone-of-replies",
}
ON_GROUP = {**COMMON, "GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": QUEUE, "GITHUB_SHA": GROUP}
ON_PUSH = {**COMMON, "GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/main", "GITHUB_SHA": HEAD}
CASES = {"pull_request": ON_PULL_REQUEST, "merge_group": ON_GROUP, "push": ON_PUSH}


def _payload(name):
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


def _bind(name, environ=None, /, **changes):
    payload = _payload(name)
    for path, value in changes.items():
        at = payload
        *way, last = path.split("__")
        for step in way:
            at = at[step]
        if value is ...:
            del at[last]
        else:
            at[last] = value
    return bind_github(json.dumps(payload).encode(), environ or CASES[name])


def _facts(**own):
    return EventFacts(
        repo="harbour/pilot",
        default_branch="main",
        run_id=6001,
        run_attempt=2,
        workflow=".github/workflows/truegreen.yml",
        **{"head_repo": "harbour/pilot", "pull_request": None, "base_ref": "main", "group_base": None, **own},
    )


def test_a_pull_request_is_bound_to_its_head_and_base():
    """Not to GITHUB_SHA, which is the forge's test merge."""
    event = _bind("pull_request")
    assert _facts(event="pull_request", pull_request=42, head_sha=HEAD, base_sha=BASE) == event.facts
    assert ((42,), False) == (event.pull_requests, event.is_fork)


def test_a_fork_has_its_own_head_repository():
    """A fork's branch may be called like the base's."""
    environ = {**ON_PULL_REQUEST, "GITHUB_REF": "refs/pull/43/merge", "GITHUB_HEAD_REF": "main"}
    event = _bind("pull_request_fork", environ)
    assert ("Visitor-9/pilot", True, (43,)) == (event.facts.head_repo, event.is_fork, event.pull_requests)


def test_a_deleted_fork_is_a_fork_without_a_name():
    """Its pull request can still be merged."""
    environ = {**ON_PULL_REQUEST, "GITHUB_REF": "refs/pull/44/merge", "GITHUB_HEAD_REF": "gone"}
    event = _bind("pull_request_deleted_fork", environ)
    assert ("(deleted)", True) == (event.facts.head_repo, event.is_fork)


def test_a_merge_group_is_bound_to_the_group_and_what_it_is_built_on():
    """Its pull request is read from the queue's branch."""
    event = _bind("merge_group")
    assert _facts(event="merge_group", head_sha=GROUP, base_sha=BASE, group_base=BASE) == event.facts
    assert (42,) == event.pull_requests


def test_a_group_on_another_kind_of_branch_has_no_known_pull_request():
    """Nothing is guessed from a name of another form."""
    ref = "refs/heads/some-queue/7"
    assert (
        () == _bind("merge_group", {**ON_GROUP, "GITHUB_REF": ref}, merge_group__head_ref=ref).pull_requests
    )


def test_a_push_is_bound_to_the_pushed_commit():
    """Base and head are the same; a branch name may hold slashes."""
    assert _facts(event="push", head_sha=HEAD, base_sha=HEAD) == _bind("push").facts
    ref = "refs/heads/release/2.x"
    assert "release/2.x" == _bind("push", {**ON_PUSH, "GITHUB_REF": ref}, ref=ref).facts.base_ref


@pytest.mark.parametrize(
    "event", ["pull_request_target", "workflow_run", "schedule", "workflow_dispatch", "issue_comment", "x\ny"]
)
def test_other_events_are_not_supported(event):
    """Whatever their payload says."""
    with pytest.raises(UsageProblem) as caught:
        _bind("pull_request", {**ON_PULL_REQUEST, "GITHUB_EVENT_NAME": event})
    assert "event-not-supported" == caught.value.code


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("pull_request", {"action": "closed"}),
        ("merge_group", {"action": "destroyed"}),
        ("push", {"ref": "refs/tags/v1"}),
        ("push", {"ref": "main"}),
        ("push", {"deleted": True, "after": "0" * 40}),
    ],
)
def test_there_is_nothing_to_decide_about_what_is_gone(name, changes):
    """Closed, left the queue, tagged, deleted."""
    with pytest.raises(UsageProblem) as caught:
        _bind(name, **changes)
    assert "event-not-supported" == caught.value.code


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_REPOSITORY_ID", "7302"),
        ("GITHUB_REF", "refs/heads/other"),
        ("GITHUB_SHA", "b" * 40),
        ("GITHUB_BASE_REF", "release"),
        ("GITHUB_HEAD_REF", "other"),
    ],
)
def test_payload_and_variables_tell_one_story(name, variable, value):
    """A variable that the event fills may not say something else; one that it does not fill is ignored."""
    ignored = variable == ("GITHUB_SHA" if name == "pull_request" else None) or (
        name != "pull_request" and variable in ("GITHUB_BASE_REF", "GITHUB_HEAD_REF")
    )
    environ = {**CASES[name], variable: value}
    if ignored:
        assert _bind(name).facts == _bind(name, environ).facts
        return
    with pytest.raises(EvidenceProblem) as caught:
        _bind(name, environ)
    assert "event-mismatch" == caught.value.code
    assert value in caught.value.message


@pytest.mark.parametrize(
    "changes", [{"number": 41}, {"pull_request__base__repo__id": 9}, {"pull_request__base__repo": None}]
)
def test_a_payload_that_contradicts_itself_is_refused(changes):
    """The number stands twice, the base repository too."""
    with pytest.raises(EvidenceProblem) as caught:
        _bind("pull_request", **changes)
    assert "event-mismatch" == caught.value.code


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("variable", [*COMMON, "GITHUB_EVENT_NAME", "GITHUB_REF"])
def test_a_missing_variable_is_named(name, variable):
    """Outside of a workflow nothing is guessed; only the repository's id may be missing."""
    environ = {key: value for key, value in CASES[name].items() if key != variable}
    if variable == "GITHUB_REPOSITORY_ID":
        assert _bind(name).facts == _bind(name, environ).facts
        return
    with pytest.raises(UsageProblem) as caught:
        _bind(name, environ)
    assert ("not-in-github", True) == (caught.value.code, variable in caught.value.message)


def test_a_renamed_repository_is_known_by_its_id():
    """A re-run replays the old payload; the name of today counts, for base and head."""
    environ = {**ON_PULL_REQUEST, "GITHUB_REPOSITORY": "harbour/new-pilot"}
    environ["GITHUB_WORKFLOW_REF"] = "harbour/new-pilot/.github/workflows/truegreen.yml@refs/pull/42/merge"
    facts = _bind("pull_request", environ).facts
    assert ("harbour/new-pilot", "harbour/new-pilot") == (facts.repo, facts.head_repo)
    del environ["GITHUB_REPOSITORY_ID"]
    with pytest.raises(EvidenceProblem) as caught:
        _bind("pull_request", environ)
    assert "event-mismatch" == caught.value.code


def test_the_case_of_a_repository_s_name_does_not_count():
    """GitHub answers to both; the workflow's reference may use either."""
    environ = {**ON_PULL_REQUEST, "GITHUB_REPOSITORY": "Harbour/Pilot"}
    del environ["GITHUB_REPOSITORY_ID"]
    facts = _bind("pull_request", environ).facts
    assert ("Harbour/Pilot", ".github/workflows/truegreen.yml") == (facts.repo, facts.workflow)


def test_a_workflow_of_another_repository_is_named_with_it():
    """An organisation's required workflow is not a file of this repository."""
    environ = {**ON_PUSH, "GITHUB_WORKFLOW_REF": "harbour/rules/.github/workflows/gate.yml@refs/heads/main"}
    assert "harbour/rules/.github/workflows/gate.yml" == _bind("push", environ).facts.workflow


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GITHUB_RUN_ID", "0"),
        ("GITHUB_RUN_ID", "1.5"),
        ("GITHUB_RUN_ID", "\uff11"),
        ("GITHUB_RUN_ATTEMPT", "-1"),
        ("GITHUB_RUN_ATTEMPT", "2 "),
        ("GITHUB_WORKFLOW_REF", "truegreen.yml"),
        ("GITHUB_REPOSITORY", "pilot"),
        ("GITHUB_REPOSITORY_ID", "x"),
    ],
)
def test_a_variable_of_another_form_is_refused(variable, value):
    """Numbers are whole and positive, names have their parts."""
    with pytest.raises(EvidenceProblem) as caught:
        _bind("push", {**ON_PUSH, variable: value})
    assert "bad-event" == caught.value.code


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("pull_request", {"pull_request": ...}),
        ("pull_request", {"pull_request__number": "42"}),
        ("pull_request", {"pull_request__head__sha": HEAD[:12]}),
        ("pull_request", {"pull_request__head__sha": HEAD.upper()}),
        ("pull_request", {"pull_request__head__sha": None}),
        ("pull_request", {"pull_request__base__sha": "0" * 40}),
        ("pull_request", {"pull_request__head__repo__full_name": "a b/c", "pull_request__head__repo__id": 9}),
        ("pull_request", {"repository__default_branch": ""}),
        ("pull_request", {"repository__default_branch": ...}),
        ("pull_request", {"repository__id": True}),
        ("merge_group", {"merge_group__base_sha": "main"}),
        ("merge_group", {"merge_group__base_ref": "refs/tags/v1"}),
        ("merge_group", {"merge_group": []}),
        ("push", {"after": ...}),
        ("push", {"deleted": "no"}),
    ],
)
def test_a_payload_of_another_shape_is_refused(name, changes):
    """Missing, of another type, or abbreviated."""
    with pytest.raises(EvidenceProblem) as caught:
        _bind(name, **changes)
    assert caught.value.code in ("bad-event", "event-mismatch")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"null", b'{"action":"a","action":"b"}', b"\xff"])
def test_broken_bytes_are_no_payload(data):
    """Empty, cut, another value, a name twice, not UTF-8."""
    with pytest.raises(EvidenceProblem):
        bind_github(data, ON_PUSH)


VALUES = st.sampled_from([None, True, 0, -1, 1e9, "", "x", HEAD, "refs/heads/main", [], {}, {"id": 1}])


@given(name=st.sampled_from(sorted(CASES)), data=st.data())
def test_no_payload_makes_anything_but_facts_or_one_problem(name, data):
    """One to three values replaced anywhere in the payload or the variables."""
    payload, environ = _payload(name), dict(CASES[name])
    for _ in range(data.draw(st.integers(1, 3))):
        places = [(environ, key) for key in environ] + list(_places(payload))
        at, key = data.draw(st.sampled_from(places))
        at[key] = data.draw(st.text(max_size=8)) if at is environ else data.draw(VALUES)
    assert _outcome(json.dumps(payload).encode(), environ) in (
        "bad-event",
        "event-mismatch",
        "event-not-supported",
        "not-in-github",
        f"facts of {name}",
    )


def _outcome(payload, environ):
    try:
        event = bind_github(payload, environ)
    except TruegreenProblem as problem:
        return problem.code
    return f"facts of {event.facts.event}"


def _places(value):
    for key in value if isinstance(value, dict) else ():
        yield value, key
        yield from _places(value[key])


def test_who_started_a_run_is_believed_only_if_both_say_so():
    """Payload and variable agree, or nobody is named: Dependabot's runs get no key."""
    bot = {**ON_PULL_REQUEST, "GITHUB_ACTOR": "dependabot[bot]"}
    assert "" == _bind("pull_request", bot).facts.actor
    assert "" == _bind("pull_request", bot, sender=...).facts.actor
    both = _bind("pull_request", bot, sender__login="dependabot[bot]").facts
    assert ("dependabot[bot]", True) == (both.actor, both.is_keyless)
    assert "" == _bind("pull_request", sender__login="dependabot[bot]").facts.actor
