# SPDX-License-Identifier: Apache-2.0
"""Shapes of part 5: recordings, and what may be answered from them.

What it decides: how such an input becomes calls of the product's functions, and their results a verdict. What it
leaves: every judgement, to the functions that wiring hands in.

| shape | keys | admit | block | hold |
|---|---|---|---|---|
| recorded and asked | recorded, request | one answer may stand for both | they differ, or the recording has no body | never |
| recorded and several | recorded or recorded_body, requests | every one matches | one does not | never |
| coded answer | response | body and coding agree | never | they contradict |
| replay of a commit | cassettes_in_commit, request | it is answered | it is missing | never |
| record mode | record_mode, requests | the mode is closed and all are answered | else | never |
| foreign file | cassette_yaml | it is read | it holds a tag | it cannot be read |
| header filter | filter_headers, exchange | nothing leaks | a credential would stay | never |
| unplayed | cassette_entries, played | all were played | the test failed, or more was asked | some were not played |

Requests match here when their JSON is one value, numbers by value: ``1`` and ``1.0`` are one. ``same_key`` says what
the key says if nobody declares types of numbers ignored; it is stricter.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from truegreen.conformance.ports_five import (
    CheckCoding,
    Differs,
    IsClosed,
    IsCredential,
    Keep,
    Load,
    Play,
    Replay,
    SameKey,
)
from truegreen.conformance.shapes import Answer, has_keys
from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Answered, Asked, Chunk

REQUEST_KEYS = frozenset({"method", "path", "url", "query", "headers", "body"})
"""What a request may say."""
WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
"""Methods whose requests need none."""
MOST_ENTRIES = 1_000
_CALL = re.compile(r"(?P<method>[A-Z]+) (?P<path>/\S*)(?: \((?P<state>recorded|not recorded)\))?")


class RecordedAndAsked:
    """One recording and one request."""

    name = "recorded and asked"

    def __init__(self, differs: Differs) -> None:
        """Compares with the product's own function."""
        self._differs = differs

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Two requests, the recorded one with its answer."""
        return (
            has_keys(given, needed=frozenset({"recorded", "request"}), known=frozenset({"match_on"}))
            and _is_request(given["recorded"], frozenset({"response"}))
            and _is_request(given["request"])
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit what may be answered; whatever another tool was told to match on, the body counts."""
        recorded = given["recorded"]
        if recorded.get("body") is None and recorded.get("method", "POST") not in WITHOUT_BODY:
            return Answer(verdict="block", facts={"replayed": False, "reason": "cassette-without-body"})
        differs = self._differs(_asked(recorded), _asked(given["request"]))
        if differs is None:
            return Answer(verdict="admit", facts={"replayed": True})
        part = re.split(r"[.\[]", differs)[0]
        facts = {"replayed": False, "reason": f"{part}-mismatch", "differs_at": differs}
        return Answer(verdict="block", facts=facts, detail=f"they differ from {differs}")


class RecordedAndSeveral:
    """One recording and several requests."""

    name = "recorded and several"

    def __init__(self, differs: Differs, same_key: SameKey) -> None:
        """Compares with the product's own functions."""
        self._differs = differs
        self._same_key = same_key

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Requests, or bodies alone."""
        if has_keys(given, needed=frozenset({"recorded_body", "requests"})):
            return isinstance(given["recorded_body"], str) and _is_list(given["requests"], str)
        return (
            has_keys(given, needed=frozenset({"recorded", "requests"}))
            and _is_request(given["recorded"], frozenset({"response"}))
            and _is_list(given["requests"], Mapping)
            and all(_is_request(one) for one in given["requests"])
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Admit when every request matches."""
        recorded = _asked(given.get("recorded", {"body": given.get("recorded_body")}))
        asked = [_asked(one if isinstance(one, Mapping) else {"body": one}) for one in given["requests"]]
        try:
            match = [self._differs(recorded, one) is None for one in asked]
            same = [self._same_key(recorded, one) for one in asked]
        except EvidenceProblem as err:
            return Answer(verdict="block", facts={"reason": err.code}, detail=err.message)
        facts: dict[str, Any] = {"match": match, "same_key": same}
        if all(match):
            return Answer(verdict="admit", facts=facts)
        return Answer(verdict="block", facts={**facts, "first_bad_request": match.index(False)})


class CodedAnswer:
    """An answer with its headers."""

    name = "coded answer"

    def __init__(self, check: CheckCoding, magic: Mapping[str, str]) -> None:
        """``magic`` has the first bytes of each coding, in hexadecimal."""
        self._check = check
        self._magic = magic

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Headers and a body, as text or in Base64."""
        if not has_keys(given, needed=frozenset({"response"})) or not isinstance(given["response"], Mapping):
            return False
        response = given["response"]
        return any(
            has_keys(response, needed=frozenset({"headers", body}), known=frozenset({"status"}))
            and isinstance(response[body], str)
            for body in ("body", "body_base64")
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Hold what contradicts itself: the recording is damaged."""
        response = given["response"]
        body = response["body"].encode() if "body" in response else base64.b64decode(response["body_base64"])
        headers = _pairs(response["headers"])
        try:
            self._check(_answered(headers, body))
        except EvidenceProblem as err:
            named = [value.strip().lower() for name, value in headers if name.lower() == "content-encoding"]
            facts = {"reason": err.code, "expected_magic": next(map(self._magic.get, named), None)}
            return Answer(verdict="hold", facts=facts, detail=err.message)
        return Answer(verdict="admit")


class ReplayOfACommit:
    """Recordings that a commit holds, and one request."""

    name = "replay of a commit"

    def __init__(self, play: Play) -> None:
        """Plays with the product's own store."""
        self._play = play

    def fits(self, given: Mapping[str, Any]) -> bool:
        """A list of recorded requests, and one request."""
        needed = frozenset({"cassettes_in_commit", "request"})
        return (
            has_keys(given, needed=needed, known=frozenset({"mode_default"}))
            and _is_list(given["cassettes_in_commit"], Mapping)
            and all(_is_request(one, frozenset({"response"})) for one in given["cassettes_in_commit"])
            and _is_request(given["request"])
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Replay, whatever another tool does if nobody tells it otherwise."""
        asked = [_asked(given["request"])]
        return _of_replay(self._play([_asked(one) for one in given["cassettes_in_commit"]], asked), asked)


class RecordMode:
    """A mode, and requests of which some are recorded."""

    name = "record mode"

    def __init__(self, play: Play, is_closed: IsClosed) -> None:
        """Plays with the product's own store."""
        self._play = play
        self._is_closed = is_closed

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Requests as ``GET /1 (recorded)``; as many are recorded as there are entries."""
        needed = frozenset({"record_mode", "cassette_entries", "requests"})
        if not has_keys(given, needed=needed) or not _is_list(given["requests"], str):
            return False
        calls = [_CALL.fullmatch(one) for one in given["requests"]]
        recorded = sum(call is not None and call["state"] == "recorded" for call in calls)
        return all(calls) and recorded == given["cassette_entries"] and isinstance(given["record_mode"], str)

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Block a mode that may grow the recording, even when it did not."""
        calls = [call for one in given["requests"] if (call := _CALL.fullmatch(one))]
        asked = [Asked(method=call["method"], path=call["path"]) for call in calls]
        recorded = [one for one, call in zip(asked, calls, strict=True) if call["state"] == "recorded"]
        found = self._play(recorded, asked)
        answered = _of_replay(found, asked)
        facts = {**answered.facts, "cassette_entries_after": found.entries_after}
        if not self._is_closed(given["record_mode"]):
            return Answer(verdict="block", facts={**facts, "reason": "mode-not-replay-only"})
        return Answer(verdict=answered.verdict, facts=facts)


class ForeignFile:
    """A recording of another tool, in YAML."""

    name = "foreign file"

    def __init__(self, load: Load) -> None:
        """Reads with the product's own reader."""
        self._load = load

    def fits(self, given: Mapping[str, Any]) -> bool:
        """The text of the file."""
        return has_keys(given, needed=frozenset({"cassette_yaml"})) and isinstance(
            given["cassette_yaml"], str
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Block a file that wants to run something, hold one that cannot be read."""
        found = self._load(given["cassette_yaml"].encode())
        facts = {"loaded": found.problem is None, "code_run": found.code_run}
        if found.problem is None:
            return Answer(verdict="admit", facts=facts)
        is_contradiction = getattr(found.problem, "contradictory", False)
        return Answer(
            verdict="block" if is_contradiction else "hold",
            facts={**facts, "reason": found.problem.code},
            detail=found.problem.message,
        )


class HeaderFilter:
    """An exchange, and a filter that another tool applies to the headers of requests."""

    name = "header filter"

    def __init__(self, keep: Keep, is_credential: IsCredential) -> None:
        """Records with the product's own store."""
        self._keep = keep
        self._is_credential = is_credential

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Headers of both sides."""
        return (
            has_keys(given, needed=frozenset({"filter_headers", "exchange"}))
            and _is_list(given["filter_headers"], str)
            and isinstance(given["exchange"], Mapping)
            and given["exchange"].keys() <= {"request_headers", "response_headers"}
            and all(isinstance(headers, Mapping) for headers in given["exchange"].values())
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Block if a credential would stay in the file that such a filter leaves; say what ours holds."""
        filtered = {name.lower() for name in given["filter_headers"]}
        asked = _pairs(given["exchange"].get("request_headers", {}))
        back = _pairs(given["exchange"].get("response_headers", {}))
        kept = self._keep(Asked(method="POST", path="/", headers=asked), _answered(back, b"{}"))
        leak = [
            f"request.headers.{name}"
            for name, _ in asked
            if self._is_credential(name) and name.lower() not in filtered
        ]
        leak += [f"response.headers.{name}" for name, _ in back if self._is_credential(name)]
        on_disk = any(kept.on_disk.values())
        return Answer(
            verdict="block" if leak or on_disk else "admit", facts={"stored": kept.on_disk, "leak": leak}
        )


class Unplayed:
    """How many of a recording's answers were played."""

    name = "unplayed"

    def __init__(self, play: Play) -> None:
        """Plays with the product's own store."""
        self._play = play

    def fits(self, given: Mapping[str, Any]) -> bool:
        """Two counts and the test's outcome."""
        needed = frozenset({"cassette_entries", "played", "test_outcome"})
        return has_keys(given, needed=needed) and all(
            type(given[name]) is int and 0 <= given[name] <= MOST_ENTRIES
            for name in ("cassette_entries", "played")
        )

    def answer(self, given: Mapping[str, Any]) -> Answer:
        """Hold what no longer describes the code."""
        entries = [Asked(method="GET", path=f"/{number}") for number in range(given["cassette_entries"])]
        more = [Asked(method="GET", path="/more")] * max(0, given["played"] - len(entries))
        asked = entries[: given["played"]] + more
        found = self._play(entries, asked)
        facts: dict[str, Any] = {"unplayed": list(found.unplayed)}
        if given["test_outcome"] != "passed":
            return Answer(verdict="block", facts={**facts, "reason": "test-failed"})
        if found.misses:
            return Answer(verdict="block", facts={**facts, "reason": found.misses[0]})
        if found.unplayed:
            return Answer(verdict="hold", facts={**facts, "reason": "unused-interactions"})
        return Answer(verdict="admit", facts=facts)


def _of_replay(found: Replay, asked: Sequence[Asked]) -> Answer:
    facts: dict[str, Any] = {
        "live_calls": len(asked) - found.played - len(found.misses),
        "files_written": found.files_written,
    }
    if found.misses or found.files_written:
        reason = found.misses[0] if found.misses else "recordings-changed"
        return Answer(verdict="block", facts={**facts, "reason": reason})
    return Answer(verdict="admit", facts=facts)


def _is_list(value: Any, kind: type) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(one, kind) for one in value)
    )


def _is_request(value: Any, more: frozenset[str] = frozenset()) -> bool:
    return isinstance(value, Mapping) and value.keys() <= REQUEST_KEYS | more


def _asked(given: Mapping[str, Any]) -> Asked:
    path, _, query = str(given.get("path", given.get("url", "/"))).partition("?")
    body = given.get("body")
    return Asked(
        method=str(given.get("method", "POST")),
        path=re.sub(r"^[a-z]+://[^/]*", "", path) or "/",
        query=str(given.get("query", query)),
        headers=_pairs(given.get("headers") or {}),
        body=_bytes(body),
    )


def _bytes(body: Any) -> bytes:
    if body is None:
        return b""
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _pairs(headers: Any) -> tuple[tuple[str, str], ...]:
    return tuple(
        (str(name), str(value))
        for name, values in dict(headers).items()
        for value in (values if isinstance(values, list | tuple) else [values])
    )


def _answered(headers: tuple[tuple[str, str], ...], body: bytes) -> Answered:
    return Answered(status=200, headers=headers, chunks=(Chunk(after_s=0, data=body),))
