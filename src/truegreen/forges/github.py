# SPDX-License-Identifier: Apache-2.0
"""What a GitHub workflow run is about: the webhook payload and the runner's variables, made one set of facts.

What it decides: which events are understood, and that payload and variables tell one story. What it leaves: trees
and merges, to git; which base branches are gated, to the gate.

- ``pull_request``, ``merge_group`` and ``push`` to a branch. ``pull_request_target`` and ``workflow_run`` run on
  the default branch's files and their checks land elsewhere: refused, as are tags, deletions and closed pull requests.
- Nothing is read from an artifact. Every value that is used is checked for its type; other keys are ignored, because
  GitHub adds some every month.
- A repository is itself when its id is: a re-run replays the payload of the old name after a rename. Without
  ``GITHUB_REPOSITORY_ID`` names are compared, without regard to case, as GitHub does. Branch names keep their case.
- Who started the run is believed only if the variable ``GITHUB_ACTOR`` and the payload's sender agree: a re-run keeps
  both, whoever asked for it.
- On ``pull_request`` the variable ``GITHUB_SHA`` is the forge's test merge, which no payload holds reliably: it is
  not compared. A head repository that was deleted is called ``(deleted)``.

Source: GitHub Docs, "Webhook events and payloads" and "Variables reference".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from truegreen.core.canonical import read_json
from truegreen.core.errors import EvidenceProblem, UsageProblem
from truegreen.core.event import EventFacts
from truegreen.core.quoted import quoted
from truegreen.core.subject import is_object_id

EVENTS = ("pull_request", "merge_group", "push")
DELETED = "(deleted)"
_QUEUE_BRANCH = r"refs/heads/gh-readonly-queue/.+/pr-(?P<number>[1-9][0-9]{0,9})-[0-9a-f]+"
_WORKFLOW_REF = re.compile(r"(?P<repo>[^/]+/[^/]+)/(?P<path>[^@]+)@.+")
_NUMBER = re.compile(r"[1-9][0-9]{0,15}")
REPOSITORY = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
_BRANCH = "refs/heads/"

Shape = TypeVar("Shape")


class GithubEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, with what only a forge's index needs beside the facts."""

    facts: EventFacts
    """What the gate and the lanes are told."""
    pull_requests: tuple[int, ...]
    """The pull request, or the one that a queue's group was made for; empty for a push."""
    is_fork: bool
    """Whether the head lives in another repository, so that its jobs have no secrets."""


class _Repository(msgspec.Struct):
    id: int
    full_name: str
    default_branch: str = ""


class _Side(msgspec.Struct):
    ref: str
    sha: str
    repo: _Repository | None


class _PullRequest(msgspec.Struct):
    number: int
    head: _Side
    base: _Side


class _Sender(msgspec.Struct):
    login: str = ""


class _PullRequestPayload(msgspec.Struct):
    action: str
    number: int
    pull_request: _PullRequest
    repository: _Repository
    sender: _Sender | None = None


class _Group(msgspec.Struct):
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str


class _GroupPayload(msgspec.Struct):
    action: str
    merge_group: _Group
    repository: _Repository


class _PushPayload(msgspec.Struct):
    ref: str
    after: str
    repository: _Repository
    deleted: bool = False


def bind_github(payload: bytes, environ: Mapping[str, str]) -> GithubEvent:
    """The event of this workflow run.

    Raises: UsageProblem ``not-in-github`` (a variable is missing) or ``event-not-supported``; EvidenceProblem
    ``bad-event`` (the payload has another shape) or ``event-mismatch`` (payload and variables disagree), besides
    what the strict reader raises.
    """
    runner = _Runner(environ)
    name = runner.text("GITHUB_EVENT_NAME")
    value = read_json(payload)
    match name:
        case "pull_request":
            return _pull_request(_shaped(value, _PullRequestPayload), runner)
        case "merge_group":
            return _merge_group(_shaped(value, _GroupPayload), runner)
        case "push":
            return _push(_shaped(value, _PushPayload), runner)
    raise _not_supported(f"the event {quoted(name, 40)}")


def _pull_request(payload: _PullRequestPayload, runner: _Runner) -> GithubEvent:
    request, head, base = payload.pull_request, payload.pull_request.head, payload.pull_request.base
    if payload.action == "closed":
        raise _not_supported(f"the action closed of pull request {request.number}")
    repo = runner.repository(payload.repository)
    runner.same("number of the pull request", request.number, payload.number)
    runner.same("repository of the base", base.repo.id if base.repo else DELETED, payload.repository.id)
    runner.same("GITHUB_REF", runner.text("GITHUB_REF"), f"refs/pull/{request.number}/merge")
    runner.same("GITHUB_BASE_REF", runner.text("GITHUB_BASE_REF"), base.ref)
    runner.same("GITHUB_HEAD_REF", runner.text("GITHUB_HEAD_REF"), head.ref)
    is_fork = head.repo is None or head.repo.id != payload.repository.id
    head_name = _repository_name(head.repo.full_name) if head.repo else DELETED
    return GithubEvent(
        facts=runner.facts(
            payload.repository,
            event="pull_request",
            repo=repo,
            head_repo=head_name if is_fork else repo,
            pull_request=request.number,
            head_sha=_commit(head.sha),
            base_ref=_branch_name(base.ref),
            base_sha=_commit(base.sha),
            group_base=None,
            actor=runner.actor(payload.sender),
        ),
        pull_requests=(request.number,),
        is_fork=is_fork,
    )


def _merge_group(payload: _GroupPayload, runner: _Runner) -> GithubEvent:
    group = payload.merge_group
    if payload.action != "checks_requested":
        raise _not_supported(f"the action {quoted(payload.action, 40)} of a merge group")
    repo = runner.repository(payload.repository)
    runner.same("GITHUB_REF", runner.text("GITHUB_REF"), group.head_ref)
    runner.same("GITHUB_SHA", runner.text("GITHUB_SHA"), group.head_sha)
    queued = re.fullmatch(_QUEUE_BRANCH, group.head_ref)
    base = _commit(group.base_sha)
    return GithubEvent(
        facts=runner.facts(
            payload.repository,
            event="merge_group",
            repo=repo,
            head_repo=repo,
            pull_request=None,
            head_sha=_commit(group.head_sha),
            base_ref=_branch_name(group.base_ref.removeprefix(_BRANCH)),
            base_sha=base,
            group_base=base,
        ),
        pull_requests=(int(queued["number"]),) if queued else (),
        is_fork=False,
    )


def _push(payload: _PushPayload, runner: _Runner) -> GithubEvent:
    if payload.deleted or not payload.ref.startswith(_BRANCH):
        what = "a deletion of" if payload.deleted else "a push to"
        raise _not_supported(f"{what} {quoted(payload.ref)}")
    repo = runner.repository(payload.repository)
    runner.same("GITHUB_REF", runner.text("GITHUB_REF"), payload.ref)
    runner.same("GITHUB_SHA", runner.text("GITHUB_SHA"), payload.after)
    commit = _commit(payload.after)
    return GithubEvent(
        facts=runner.facts(
            payload.repository,
            event="push",
            repo=repo,
            head_repo=repo,
            pull_request=None,
            head_sha=commit,
            base_ref=_branch_name(payload.ref.removeprefix(_BRANCH)),
            base_sha=commit,
            group_base=None,
        ),
        pull_requests=(),
        is_fork=False,
    )


class _Runner:
    """The variables that GitHub's runner sets for every step."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str:
        value = self._environ.get(name, "")
        if not value:
            raise UsageProblem(
                "not-in-github",
                f"the variable {name} is empty or not set, a step of a GitHub workflow has it",
                hint="truegreen gate --subject-from git, on your own machine",
            )
        return value

    def number(self, name: str) -> int:
        value = self.text(name)
        if not _NUMBER.fullmatch(value):
            raise EvidenceProblem(
                "bad-event", f"the variable {name} is {quoted(value)}, asked is a whole number"
            )
        return int(value)

    def same(self, what: str, found: object, asked: object) -> None:
        if found != asked:
            raise EvidenceProblem(
                "event-mismatch",
                f"{what} is {quoted(str(found))}, the event's payload says {quoted(str(asked))}",
            )

    def repository(self, named: _Repository) -> str:
        """The repository's name as of now."""
        name = _repository_name(self.text("GITHUB_REPOSITORY"))
        if "GITHUB_REPOSITORY_ID" in self._environ:
            self.same("GITHUB_REPOSITORY_ID", self.number("GITHUB_REPOSITORY_ID"), named.id)
        elif name.casefold() != named.full_name.casefold():
            self.same("GITHUB_REPOSITORY", name, named.full_name)
        return name

    def facts(  # noqa: PLR0913 - what the three events fill differently, each by its name
        self,
        repository: _Repository,
        *,
        event: str,
        repo: str,
        head_repo: str,
        pull_request: int | None,
        head_sha: str,
        base_ref: str,
        base_sha: str,
        group_base: str | None,
        actor: str = "",
    ) -> EventFacts:
        return EventFacts(
            event=event,
            repo=repo,
            head_repo=head_repo,
            pull_request=pull_request,
            head_sha=head_sha,
            base_ref=base_ref,
            base_sha=base_sha,
            group_base=group_base,
            default_branch=_branch_name(repository.default_branch),
            run_id=self.number("GITHUB_RUN_ID"),
            run_attempt=self.number("GITHUB_RUN_ATTEMPT"),
            workflow=self._workflow(repo),
            actor=actor,
        )

    def actor(self, sender: _Sender | None) -> str:
        """Who started the run: the one that payload and variable name alike, else nobody that we know of."""
        named = self._environ.get("GITHUB_ACTOR", "")
        return named if sender is not None and sender.login == named else ""

    def _workflow(self, repo: str) -> str:
        """Path of the workflow file; with its repository before it if that is another one."""
        text = self.text("GITHUB_WORKFLOW_REF")
        found = _WORKFLOW_REF.fullmatch(text)
        if found is None:
            raise EvidenceProblem(
                "bad-event",
                f"the variable GITHUB_WORKFLOW_REF is {quoted(text)}, asked is OWNER/NAME/PATH@REF",
            )
        return (
            found["path"]
            if found["repo"].casefold() == repo.casefold()
            else f"{found['repo']}/{found['path']}"
        )


def _shaped(value: object, shape: type[Shape]) -> Shape:
    try:
        return msgspec.convert(value, shape, strict=True)
    except msgspec.ValidationError as err:
        raise EvidenceProblem("bad-event", f"the event's payload cannot be read: {err}") from err


def _commit(text: str) -> str:
    if not is_object_id(text) or not text.strip("0"):
        raise EvidenceProblem(
            "bad-event", f"the event's payload names the commit {quoted(text)}, not a whole id"
        )
    return text


def _branch_name(text: str) -> str:
    if not text or text.startswith("refs/"):
        raise EvidenceProblem(
            "bad-event", f"the event's payload names the branch {quoted(text)}, not a short name"
        )
    return text


def _repository_name(text: str) -> str:
    if not REPOSITORY.fullmatch(text):
        raise EvidenceProblem("bad-event", f"a repository is called {quoted(text)}, asked is OWNER/NAME")
    return text


def _not_supported(what: str) -> UsageProblem:
    return UsageProblem(
        "event-not-supported",
        f"{what} has nothing that a gate could decide; {', '.join(EVENTS)} have",
        hint="run this step on pull_request, merge_group or push to a branch only",
    )
