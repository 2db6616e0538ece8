# SPDX-License-Identifier: Apache-2.0
"""Recordings of one endpoint in a folder: found by key, played in order, written whole.

What it decides: which recording answers a request, and what a new one replaces. What it leaves: moving bytes and the
modes, to ``proxy``; the folder's disk, to ``Folder``.

- Look-up opens the one file that the key names; nothing is searched, however many there are.
- Identical requests get their answers in the order in which they were recorded, then a miss. Nothing falls back to
  anything.
- A recording whose file cannot be believed is a miss with the code of what is wrong.
- The first answer that one recording keeps for a key replaces what stood there, and the log ``replaced.jsonl`` keeps
  the replaced digests; further ones are added behind it. What this store wrote belongs to its recording, and what
  another process wrote since it began.
- A file that cannot be believed is replaced too; the log then has the digest of its bytes.
- Only final 2xx answers are kept, unless the recorder was opened for others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

import msgspec

from truegreen.cassettes import answer, coding
from truegreen.cassettes.cassette import (
    SCHEMA,
    About,
    Cassette,
    Header,
    IgnoredParts,
    IgnoredPath,
    StoredAnswer,
    StoredRequest,
)
from truegreen.cassettes.cassette_file import (
    FULL,
    answer_of,
    read_cassette,
    rules_of,
    sealed,
    stored_document,
    view_of,
    wire_of,
    write_cassette,
)
from truegreen.cassettes.folder import Folder
from truegreen.cassettes.key import KEY_SCHEMA, file_name, key_of_document
from truegreen.cassettes.leaks import Needles
from truegreen.cassettes.nearest import Outline, first_difference, nearest_of, outline_of, told_apart
from truegreen.cassettes.places import Place
from truegreen.cassettes.plain import plain
from truegreen.cassettes.request import (
    Read,
    Request,
    document,
    media_type,
    read_request,
    references,
    without_content,
)
from truegreen.cassettes.rules import KeyRules, check_rules, keyed, without_volatile
from truegreen.cassettes.scrub import check_written, clean_answer, clean_document, needles_of
from truegreen.core.canonical import write_json
from truegreen.core.digest import Sha256, sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem, TruegreenProblem, UsageProblem
from truegreen.core.recording import Answered, Asked, Miss

REPLACED_LOG: Final = "replaced.jsonl"
"""Committed, append-only: which answers were replaced by which."""
_OK: Final = range(200, 300)


class Recorder(msgspec.Struct, frozen=True, kw_only=True):
    """Leave to write recordings."""

    now: Callable[[], str]
    """The clock: UTC RFC 3339 in whole seconds."""
    since: str
    """When this recording began; answers recorded since then are added to, older ones are replaced."""
    since_ns: int | None = None
    """The same by the clock of files, in nanoseconds since the epoch; stands instead of ``since`` where it is given,
    so that two recordings within one second are two."""
    keeps_errors: bool = False
    """Whether answers other than 2xx are kept, because a test asks for one."""


class Store:
    """Implements ``core.ports.RecordingPort``; safe to use from several threads, tasks and processes."""

    def __init__(self, folder: Folder, rules: KeyRules, recorder: Recorder | None = None) -> None:
        """Without a recorder nothing is ever written.

        Raises: UsageProblem ``bad-json-path``.
        """
        self._folder = folder
        self._rules = check_rules(rules)
        self._recorder = recorder
        self._played: dict[str, int] = {}
        self._kept: set[str] = set()
        self._outlines: dict[str, Outline] | None = None
        self._unread = 0
        self._guard = threading.Lock()

    def play(self, asked: Asked) -> Answered | Miss:
        """The next recorded answer, or why there is none."""
        try:
            read = read_request(asked, self._rules)
        except EvidenceProblem as err:
            return Miss(code=err.code, message=err.message, key="")
        content = document(read.request)
        key = key_of_document(content, self._rules)
        try:
            found = self._found(key)
        except TruegreenProblem as err:
            return Miss(code=err.code, message=err.message, key=key, template=_template_id(read.request))
        if found is None:
            return self._missing(key, read.request, content)
        return self._next(key, *found, read.request, content)

    def keep(self, asked: Asked, answered: Answered) -> None:
        """Write a recording, whole or not at all.

        Raises: UsageProblem ``recording-not-open``; EvidenceProblem ``status-not-recorded``, ``cannot-be-cleaned``
        and as ``read_request``; ReachProblem if it cannot be written.
        """
        recorder = self._recorder
        if recorder is None:
            raise UsageProblem(
                "recording-not-open",
                "an answer was to be kept, and these recordings were opened to be played",
            )
        if answered.status not in _OK and not recorder.keeps_errors:
            raise EvidenceProblem(
                "status-not-recorded",
                f"the answer has the status {answered.status}, only 200 to 299 are recorded",
                hint="ask for errors to be kept, if a test needs one",
            )
        read = read_request(asked, self._rules)
        needles = needles_of(asked, answered, self._rules.places)
        made = self._made(read, answered, needles, recorder.now())
        with self._guard, self._folder.locked():
            name = self._write(made, needles, recorder)
            if self._outlines is not None:
                self._outlines[name] = self._outline(name, made)

    def rewind(self) -> None:
        """Begin again: every recording may be played from its first answer."""
        with self._guard:
            self._played.clear()

    def played(self) -> dict[str, int]:
        """How many answers of each key were played."""
        with self._guard:
            return dict(self._played)

    def unplayed(self) -> tuple[tuple[str, int], ...]:
        """Recorded answers that were not played: file and place in it, from 0. Complete only after a whole run.

        Raises: EvidenceProblem or ReachProblem for a file that cannot be read.
        """
        played, listed = self.played(), []
        for name in self._folder.names():
            cassette = read_cassette(self._folder.read(name) or b"", name)
            listed += [(name, place) for place in range(played.get(cassette.key, 0), len(cassette.responses))]
        return tuple(listed)

    def _found(self, key: Sha256) -> tuple[str, Cassette] | None:
        found = self._read(file_name(key))
        if found is not None and found[1].key != key:  # two keys begin alike
            return self._read(file_name(key, FULL))
        return found

    def _read(self, name: str) -> tuple[str, Cassette] | None:
        data = self._folder.read(name)
        return None if data is None else (name, read_cassette(data, name))

    def _next(
        self, key: str, name: str, cassette: Cassette, request: Request, content: dict[str, Any]
    ) -> Answered | Miss:
        refused = self._refused(key, name, cassette, content)
        if refused is not None:
            return refused
        with self._guard:
            number = self._played.get(key, 0)
            if number < len(cassette.responses):
                self._played[key] = number + 1
                return answer_of(cassette.responses[number])
        return Miss(
            code="cassette-exhausted",
            message=f"{_called(request)} was asked {number + 1} times, the recording {name} holds {number} answers",
            key=key,
            template=_template_id(request),
            nearest=name,
        )

    def _refused(self, key: str, name: str, cassette: Cassette, content: dict[str, Any]) -> Miss | None:
        """Compare the stored request with the asked one, where the key alone does not do it."""
        header = self._counts_now(cassette)
        differs = f"headers.{header}" if header else None
        is_ruled_alike = differs is None and self._is_ruled_alike(cassette)
        if is_ruled_alike and not cassette.about.redactions:
            return None
        differs = differs or _difference(content, cassette, self._rules)
        if differs is None:
            return None
        if is_ruled_alike:
            code = "cassette-wrong-key"
            message = (
                f"the recording {name} has the key of this request and holds another one, from {differs}"
            )
        else:
            code = "cassette-other-rules"
            message = f"the recording {name} was keyed without {differs}, which counts now"
        return Miss(code=code, message=message, key=key, nearest=name, differs_at=differs)

    def _is_ruled_alike(self, cassette: Cassette) -> bool:
        ruled = rules_of(cassette)
        is_typed_alike = ruled.ignores_number_types == self._rules.ignores_number_types
        return is_typed_alike and set(ruled.volatile) == set(self._rules.volatile)

    def _counts_now(self, cassette: Cassette) -> str | None:
        """A header that was sent and ignored when the request was recorded, and that counts by these rules."""
        of_header = self._rules.places.of_header
        ignored = (name for name in cassette.about.ignored.headers if name != "accept")  # its value decides
        return next((name for name in ignored if of_header(name) is Place.KEYED), None)

    def _missing(self, key: str, request: Request, content: dict[str, Any]) -> Miss:
        outlines = self._index()
        nearest = nearest_of(keyed(content, self._rules), outlines.values())
        differs, values = self._differs(nearest.name, content) if nearest else (None, "")
        told = [f"no recording answers {_called(request)}"]
        if nearest:
            place = (
                f", differs first at {differs}{values}" if differs else " is there, and cannot be compared"
            )
            told.append(f"the nearest, {nearest.name}{place}")
        if self._unread:
            told.append(f"{self._unread} of the folder's files cannot be read")
        return Miss(
            code="cassette-missing",
            message="; ".join(told),
            key=key,
            template=_template_id(request),
            nearest=nearest.name if nearest else None,
            differs_at=differs,
        )

    def _index(self) -> dict[str, Outline]:
        with self._guard:
            if self._outlines is None:
                self._outlines = {}
                for name in self._folder.names():
                    self._add_outline(self._outlines, name)
            return dict(self._outlines)

    def _add_outline(self, outlines: dict[str, Outline], name: str) -> None:
        try:
            found = self._read(name)
        except (EvidenceProblem, ReachProblem):
            self._unread += 1
            return
        if found is not None:  # it may have gone since the folder was listed
            outlines[name] = self._outline(*found)

    def _outline(self, name: str, cassette: Cassette) -> Outline:
        return outline_of(name, keyed(without_content(stored_document(cassette)), self._rules))

    def _differs(self, name: str, content: dict[str, Any]) -> tuple[str | None, str]:
        """The first path at which a recording differs, and what stands there in both."""
        try:
            found = self._read(name)
        except (EvidenceProblem, ReachProblem):
            return None, ""
        place = _difference(content, found[1], self._rules) if found else None
        if found is None or place is None:
            return None, ""
        stored = without_content(stored_document(found[1]))
        ours, theirs = told_apart(keyed(content, self._rules), keyed(stored, self._rules), place)
        upstream = " (the upstream decides it)" if place == "host" else ""
        return place, f": asked {ours}, recorded {theirs}{upstream}"

    def _made(self, read: Read, answered: Answered, needles: Needles, now: str) -> Cassette:
        content = document(read.request)
        _, counts = without_volatile(content, self._rules.volatile)
        stored, redactions = clean_document(document(read.request, with_content=True), needles)
        asked_model = content["body"].get("model") if isinstance(content["body"], dict) else None
        return Cassette(
            schema=SCHEMA,
            digest=Sha256(""),
            key=key_of_document(content, self._rules),
            about=About(
                ignored=IgnoredParts(
                    credentials=read.credentials,
                    headers=read.ignored_headers,
                    number_types=self._rules.ignores_number_types,
                    paths=tuple(IgnoredPath(count=count, path=path) for path, count in counts.items()),
                ),
                key_schema=KEY_SCHEMA,
                model_asked=asked_model if isinstance(asked_model, str) else None,
                redactions=redactions,
                references=references(read.request),
                template=read.request.template,
            ),
            request=msgspec.convert(plain(stored, lines=True), StoredRequest),
            responses=(_stored_answer(answered, needles, self._rules, now),),
        )

    def _write(self, made: Cassette, needles: Needles, recorder: Recorder) -> str:
        name, old, damaged = self._place(made.key)
        if old is not None and self._is_of_this_recording(name, old, recorder):
            made = msgspec.structs.replace(made, responses=(*old.responses, *made.responses))
            old = None
        data = write_cassette(sealed(made))
        read_cassette(data, name)
        check_written(data, needles)
        replaced = [one.wire.sha256 for one in old.responses] if old is not None else damaged
        if replaced:
            self._folder.append(REPLACED_LOG, _log_line(replaced, made, recorder.now()))
        self._folder.write(name, data)
        if self._folder.read(name) != data:
            raise ReachProblem("not-written", f"{name} does not hold the {len(data)} bytes that were written")
        self._kept.add(made.key)
        return name

    def _is_of_this_recording(self, name: str, old: Cassette, recorder: Recorder) -> bool:
        if old.key in self._kept:
            return True
        if recorder.since_ns is not None:
            return self._folder.modified_ns(name) >= recorder.since_ns
        return old.responses[-1].recorded_at >= recorder.since

    def _place(self, key: Sha256) -> tuple[str, Cassette | None, list[Sha256]]:
        """Where a key's recording stands or will stand, what stands there, and the digest of what cannot be believed."""
        name = file_name(key)
        try:
            found = self._read(name)
            if found is not None and found[1].key != key:
                name = file_name(key, FULL)
                found = self._read(name)
        except EvidenceProblem:
            return name, None, [sha256_of(self._folder.read(name) or b"")]
        return name, found[1] if found else None, []


def _stored_answer(answered: Answered, needles: Needles, rules: KeyRules, now: str) -> StoredAnswer:
    cleaned = clean_answer(answered, needles, rules.places)
    content_type = media_type(cleaned.answered.headers)
    facts = answer.facts(cleaned.decoded, content_type)
    return StoredAnswer(
        recorded_at=now,
        status=answered.status,
        headers=tuple(Header(name=name, value=value) for name, value in cleaned.answered.headers),
        head_after_us=max(0, round(answered.head_after_s * 1_000_000)),
        model_served=facts.model,
        finish_reason=facts.finish_reason,
        usage=facts.usage,
        redactions=cleaned.redactions,
        view=view_of(cleaned.decoded, content_type, was_coded=bool(coding.codings(cleaned.answered.headers))),
        wire=wire_of(cleaned.answered),
    )


def _difference(content: dict[str, Any], cassette: Cassette, rules: KeyRules) -> str | None:
    stored = without_content(stored_document(cassette))
    redacted = frozenset(one.at for one in cassette.about.redactions)
    return first_difference(keyed(content, rules), keyed(stored, rules), redacted)


def _log_line(replaced: list[Sha256], made: Cassette, now: str) -> bytes:
    by = [one.wire.sha256 for one in made.responses]
    return write_json({"at": now, "key": made.key, "replaced": replaced, "by": by}) + b"\n"


def _template_id(request: Request) -> str | None:
    return request.template.id if request.template else None


def _called(request: Request) -> str:
    if request.template is None:
        return f"{request.method} {request.path} (no template named)"
    version = f" version {request.template.version}" if request.template.version else ""
    return f"template {request.template.id}{version}"
