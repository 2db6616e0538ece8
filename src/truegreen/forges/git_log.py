# SPDX-License-Identifier: Apache-2.0
"""The questions that one decision asked of git, with their answers, so that it can be made again without a clone.

What it decides: the form of that log, and that a replay answers exactly what was recorded. What it leaves: where
the log is stored, to the gate's bundle.

- The log is a JSON object: question to answer. A question is the method's name and its arguments, joined by a space;
  a question that was never asked has no answer (``not-in-bundle``), however easily it could be guessed.
- A problem is an answer too: it is raised again with the same code and words.
- Contents of blobs are stored in Base64.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem
from truegreen.core.ports import FileChange, GitPort, MergedTree, TreeEntry
from truegreen.core.quoted import quoted

GitLog = dict[str, Any]
"""Question to answer, as JSON values."""

Answer = TypeVar("Answer")
_PROBLEM = "problem"


def recording(git: GitPort) -> tuple[GitPort, GitLog]:
    """A port that asks ``git`` and writes down what it answered, and the log that grows meanwhile."""
    log: GitLog = {}
    return _Recorder(git, log), log


def replay(log: Mapping[str, Any]) -> GitPort:
    """A port that answers from a log alone.

    Its methods raise EvidenceProblem ``not-in-bundle`` for a question that the log does not hold or whose answer
    there has another shape.
    """
    return _Player(log)


class _Recorder:
    def __init__(self, git: GitPort, log: GitLog) -> None:
        self._git = git
        self._log = log
        self._answers: dict[str, Any] = {}

    def resolve(self, ref: str) -> str | None:
        return self._noted(f"resolve {ref}", lambda: self._git.resolve(ref))

    def fetched_tip(self, branch: str) -> str | None:
        return self._noted(f"fetched_tip {branch}", lambda: self._git.fetched_tip(branch))

    def tree_of(self, commit: str) -> str:
        return self._noted(f"tree_of {commit}", lambda: self._git.tree_of(commit))

    def parents(self, commit: str) -> tuple[str, ...]:
        return self._noted(f"parents {commit}", lambda: self._git.parents(commit))

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        return self._noted(f"entries {tree}", lambda: self._git.entries(tree))

    def blob(self, oid: str) -> bytes:
        return self._noted(f"blob {oid}", lambda: self._git.blob(oid))

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        asked = sorted(set(oids))
        try:
            answer = self._git.blob_digests(asked)
        except ReachProblem as problem:
            self._log[_set_question(asked)] = {_PROBLEM: [problem.code, problem.message, problem.hint]}
            raise
        self._log.update({f"digest {oid}": answer[oid] for oid in asked})
        return answer

    def merge_tree(self, head: str, base: str) -> MergedTree:
        return self._noted(f"merge_tree {head} {base}", lambda: self._git.merge_tree(head, base))

    def is_ancestor(self, older: str, newer: str) -> bool:
        return self._noted(f"is_ancestor {older} {newer}", lambda: self._git.is_ancestor(older, newer))

    def merge_base(self, one: str, other: str) -> str | None:
        return self._noted(f"merge_base {one} {other}", lambda: self._git.merge_base(one, other))

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        return self._noted(f"commits_between {base} {head}", lambda: self._git.commits_between(base, head))

    def changes_between(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        question = f"changes_between {base} {head} {folder}"
        return self._noted(question, lambda: self._git.changes_between(base, head, folder))

    def _noted(self, question: str, ask: Callable[[], Answer]) -> Answer:
        if question in self._answers:  # objects do not change, and a decision sees one state of the branches
            known: Answer = self._answers[question]
            return known
        try:
            answer = ask()
        except ReachProblem as problem:
            self._log[question] = {_PROBLEM: [problem.code, problem.message, problem.hint]}
            raise
        stored = (
            base64.b64encode(answer).decode() if isinstance(answer, bytes) else msgspec.to_builtins(answer)
        )
        self._log[question] = {"is": stored}
        self._answers[question] = answer
        return answer


class _Player:
    def __init__(self, log: Mapping[str, Any]) -> None:
        self._log = log

    def resolve(self, ref: str) -> str | None:
        return self._read(f"resolve {ref}", str | None)  # type: ignore[arg-type] # a union is a type to msgspec

    def fetched_tip(self, branch: str) -> str | None:
        return self._read(f"fetched_tip {branch}", str | None)  # type: ignore[arg-type] # as in resolve

    def tree_of(self, commit: str) -> str:
        return self._read(f"tree_of {commit}", str)

    def parents(self, commit: str) -> tuple[str, ...]:
        return self._read(f"parents {commit}", tuple[str, ...])

    def entries(self, tree: str) -> tuple[TreeEntry, ...]:
        return self._read(f"entries {tree}", tuple[TreeEntry, ...])

    def blob(self, oid: str) -> bytes:
        return self._read(f"blob {oid}", bytes)

    def blob_digests(self, oids: Iterable[str]) -> Mapping[str, Sha256]:
        asked = sorted(set(oids))
        whole = _set_question(asked)
        if whole in self._log:
            self._raise_problem(whole, self._log[whole])
        missing = [oid for oid in asked if not isinstance(self._log.get(f"digest {oid}"), str)]
        if missing:
            raise _unknown(f"digest {missing[0]}")
        return {oid: Sha256(self._log[f"digest {oid}"]) for oid in asked}

    def merge_tree(self, head: str, base: str) -> MergedTree:
        return self._read(f"merge_tree {head} {base}", MergedTree)

    def is_ancestor(self, older: str, newer: str) -> bool:
        return self._read(f"is_ancestor {older} {newer}", bool)

    def merge_base(self, one: str, other: str) -> str | None:
        return self._read(f"merge_base {one} {other}", str | None)  # type: ignore[arg-type] # as in resolve

    def commits_between(self, base: str, head: str) -> tuple[str, ...]:
        return self._read(f"commits_between {base} {head}", tuple[str, ...])

    def changes_between(self, base: str, head: str, folder: str) -> tuple[FileChange, ...]:
        return self._read(f"changes_between {base} {head} {folder}", tuple[FileChange, ...])

    def _read(self, question: str, shape: type[Answer]) -> Answer:
        stored = self._log.get(question)
        if isinstance(stored, dict) and _PROBLEM in stored:
            self._raise_problem(question, stored)
        if not isinstance(stored, dict) or "is" not in stored:
            raise _unknown(question)
        try:
            return msgspec.convert(stored["is"], shape, strict=True)
        except msgspec.ValidationError as err:
            raise _unknown(question) from err

    def _raise_problem(self, question: str, stored: Any) -> None:
        try:
            code, message, hint = msgspec.convert(stored[_PROBLEM], tuple[str, str, str], strict=True)
        except (msgspec.ValidationError, KeyError, TypeError) as err:
            raise _unknown(question) from err
        match code:
            case "missing-object":
                raise ReachProblem("missing-object", message, hint=hint)
            case "git-failed":
                raise ReachProblem("git-failed", message, hint=hint)
            case "object-too-large":
                raise ReachProblem("object-too-large", message, hint=hint)
            case "git-too-old":
                raise ReachProblem("git-too-old", message, hint=hint)
        raise _unknown(question)


def _set_question(oids: list[str]) -> str:
    return f"digests {sha256_of(' '.join(oids).encode())}"


def _unknown(question: str) -> EvidenceProblem:
    return EvidenceProblem(
        "not-in-bundle",
        f"the bundle holds no usable answer of git to {quoted(question)}",
        hint="make the decision again with truegreen gate, in a clone with full history",
    )
