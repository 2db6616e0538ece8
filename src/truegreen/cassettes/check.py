# SPDX-License-Identifier: Apache-2.0
"""A folder of recordings checked offline: what is there, and what is wrong with it, in the order of triage.

What it decides: every finding with its weight. What it leaves: reading files, to whoever has them; misses, which
only a replay knows.

1. Missing: a template without a recording of its version.
2. Contract: an answer that breaks it, a stale template version, another model than the contract names.
3. Truncated or changed by hand: a file that ends early, whose digest, name, key or view is not its own.
4. A secret: named by kind and place, never shown.
5. Notes: a loose contract, a name of a model that may mean another one tomorrow, more recordings than anybody reviews.

- What cannot be read is unknown, not fine. A folder without recordings has nothing to check, and that is unknown too.
- No finding repeats a text of a recording: places are cleaned of secrets as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from truegreen.cassettes import coding
from truegreen.cassettes.cassette import Cassette, StoredAnswer
from truegreen.cassettes.cassette_file import answer_of, read_cassette
from truegreen.cassettes.contract_check import Checked, Finding, Recording
from truegreen.cassettes.contracts import DEFAULT, FILE, Contract, Contracts, read_contracts
from truegreen.cassettes.kept import broken
from truegreen.cassettes.leaks import Needles, spans
from truegreen.cassettes.loose import is_floating, loose_places
from truegreen.cassettes.places import Place, places
from truegreen.cassettes.provenance import SEALS
from truegreen.cassettes.request import media_type
from truegreen.cassettes.scrub import clean_text
from truegreen.core.canonical import read_json
from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted

CODES: Final = (
    "contracts-unreadable",
    "recording-missing",
    "contract-broken",
    "template-stale",
    "model-differs",
    "template-unnamed",
    "recording-truncated",
    "recording-edited",
    "recording-unreadable",
    "recording-secret",
    "no-recordings",
    "contract-loose",
    "model-floating",
    "recordings-many",
)
"""Every code of a finding, in the order of triage."""
FAILS, UNKNOWN, NOTE = "fails", "unknown", "note"
_TRUNCATED: Final = frozenset({"cassette-truncated", "empty"})
_OK: Final = range(200, 300)
_MOST_PLACES: Final = 3
"""Places of one schema that a finding names."""
_LONGEST: Final = 300
"""Most characters of a problem or a place."""


def is_recording(name: str) -> bool:
    """Whether a file is a recording by its name, from the folder."""
    return "/" not in name and name.endswith(".json") and not name.startswith(".")


def checked(files: Mapping[str, bytes | None]) -> Checked:
    """Check a folder, by its files; None stands for what is no regular file."""
    return _Check(files).done()


class _Check:
    """One folder, file by file."""

    def __init__(self, files: Mapping[str, bytes | None]) -> None:
        self.files = files
        self.findings: list[Finding] = []
        self.recordings: list[Recording] = []
        self.contracts: Contracts | None = None
        self.by_template: Counter[str] = Counter()

    def done(self) -> Checked:
        """Read everything once."""
        names = sorted(name for name in self.files if is_recording(name))
        self._contracts()
        for name in names:
            self._file(name, self.files[name])
        for name in sorted(self.files):
            self._secrets(name, self.files[name])
        if not names:
            self.add(
                "no-recordings", UNKNOWN, "", problem="the folder holds 0 recordings, at least 1 is asked"
            )
        self._templates()
        order = {code: place for place, code in enumerate(CODES)}
        found = sorted(set(self.findings), key=lambda one: (order[one.code], one))
        return Checked(recordings=tuple(self.recordings), findings=tuple(found))

    def add(
        self, code: str, weight: str, file: str, *, contract: Contract | None = None, **more: str
    ) -> None:
        """One finding, cleaned and bounded."""
        said = {name: clean_text(text, Needles())[0][:_LONGEST] for name, text in more.items()}
        if contract is not None:
            said |= {"template": contract.template, "owner": contract.owner}
        self.findings.append(Finding(code=code, weight=weight, file=file, **said))

    def _contracts(self) -> None:
        try:
            self.contracts = read_contracts(self.files)
        except EvidenceProblem as err:
            self.add("contracts-unreadable", UNKNOWN, FILE, problem=err.message)
            return
        for contract in self.contracts.by_template.values():
            if places_ := loose_places(contract.schema):
                rest = len(places_) - _MOST_PLACES
                told = "; ".join(places_[:_MOST_PLACES]) + (f" and {rest} more" if rest > 0 else "")
                self.add("contract-loose", NOTE, contract.schema_file, contract=contract, problem=told)
            if is_floating(contract.model):
                sentence = f"the model {quoted(contract.model, 80)} is named without date, revision or digest: pin it"
                self.add("model-floating", NOTE, FILE, contract=contract, problem=sentence)

    def _file(self, name: str, data: bytes | None) -> None:
        cassette = self._read(name, data)
        self.recordings.append(_recording(name, data or b"", cassette))
        if cassette is None or self.contracts is None:
            return
        template = cassette.about.template
        contract = self.contracts.of(template.id if template else None)
        if contract is None:
            named = f"the template {quoted(template.id, 80)}" if template else "no template"
            sentence = f"it names {named}, and {FILE} has no contract for that"
            self.add("template-unnamed", UNKNOWN, name, problem=sentence)
            return
        self._against(name, cassette, contract, template.version if template else None)

    def _read(self, name: str, data: bytes | None) -> Cassette | None:
        if data is None:
            self.add("recording-unreadable", UNKNOWN, name, problem="it is no regular file, which is asked")
            return None
        try:
            return read_cassette(data, name)
        except EvidenceProblem as err:
            code, weight = "recording-unreadable", UNKNOWN
            if err.code in _TRUNCATED:
                code = "recording-truncated"
            elif err.contradictory:
                code, weight = "recording-edited", FAILS
            self.add(code, weight, name, problem=f"{err.message} ({err.code})")
            return None

    def _against(self, name: str, cassette: Cassette, contract: Contract, version: str | None) -> None:
        if contract.template != DEFAULT and version != contract.version:
            sentence = f"it was recorded for version {quoted(str(version), 60)}, {contract.version} is asked"
            self.add("template-stale", FAILS, name, contract=contract, problem=sentence)
            return
        self.by_template[contract.template] += 1
        asked = cassette.about.model_asked
        if asked != contract.model:
            sentence = (
                f"it asks the model {quoted(str(asked), 80)}, the contract names {quoted(contract.model, 80)}"
            )
            self.add("model-differs", FAILS, name, contract=contract, problem=sentence)
        for number, stored in enumerate(cassette.responses, start=1):
            if stored.status in _OK:
                self._answer(name, number, stored, contract)

    def _answer(self, name: str, number: int, stored: StoredAnswer, contract: Contract) -> None:
        answered = answer_of(stored)
        decoded = coding.decoded(answered.body, coding.codings(answered.headers))
        if decoded is None:
            self.add(
                "recording-unreadable", UNKNOWN, name, problem="its body has a coding that is not undone here"
            )
            return
        for one in broken(contract, decoded, media_type(answered.headers)):
            place = f"answer {number}: {one.place}"
            self.add(
                "contract-broken", FAILS, name, contract=contract, place=place, problem=f"asked {one.asked}"
            )

    def _templates(self) -> None:
        for template, contract in self.contracts.by_template.items() if self.contracts else ():
            count = self.by_template[template]
            if not count and template != DEFAULT:
                sentence = f"no recording of version {contract.version} is there"
                self.add("recording-missing", FAILS, FILE, contract=contract, problem=sentence)
            if count > contract.most:
                sentence = (
                    f"{count} recordings, more than the {contract.most} that anybody reviews: "
                    "is the prompt made from unbounded input?"
                )
                self.add("recordings-many", NOTE, FILE, contract=contract, problem=sentence)

    def _secrets(self, name: str, data: bytes | None) -> None:
        """Every file but seals: JSON in each of its texts and names, put together; anything else in its bytes."""
        if data is None or name.startswith(f"{SEALS}/"):
            return
        try:
            value = read_json(data)
            is_searched = bool(
                spans("\n".join(_texts(value)), Needles())
            )  # all at once: most files have none
            found = list(_in_value(value, "", is_headers=False, is_searched=is_searched))
        except EvidenceProblem:  # no JSON, or one that two readers read differently
            found = [("its bytes", span.kind) for span in spans(data.decode("latin-1"), Needles())]
        for place, kind in found[:1]:
            sentence = (
                f"{len(found)} of kind {kind} first; record it again, and take the credential out of use"
            )
            self.add("recording-secret", FAILS, name, place=place, problem=sentence)


def _texts(value: Any) -> Iterator[str]:
    """Every text and name of a JSON value, and the texts that pieces in lists make."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from _texts(inner)
    elif isinstance(value, list):
        if _is_cut(value):
            yield "".join(value)
        for inner in value:
            yield from _texts(inner)


def _in_value(value: Any, place: str, *, is_headers: bool, is_searched: bool) -> Iterator[tuple[str, str]]:
    """Place and kind of every secret in the texts of a JSON value; headers that hold one by their names."""
    if isinstance(value, str) and is_searched:
        yield from ((place, span.kind) for span in spans(value, Needles()))
    elif isinstance(value, dict):
        for name, inner in value.items():
            here = f"{place}.{name}".removeprefix(".")
            if is_searched:
                yield from (("a name", span.kind) for span in spans(name, Needles()))
            if is_headers and _is_credential(name) and inner and not _is_redacted(inner):
                yield here, "credential-header"
            else:
                is_there = "headers" in name.lower()
                yield from _in_value(inner, here, is_headers=is_there, is_searched=is_searched)
    elif isinstance(value, list):
        if is_searched and _is_cut(value):
            yield from ((place, span.kind) for span in spans("".join(value), Needles()))
        if is_headers and len(value) > 1 and isinstance(value[0], str) and _is_credential(value[0]):
            yield f"{place}.{value[0]}", "credential-header"
            return
        for number, inner in enumerate(value):
            yield from _in_value(inner, f"{place}[{number}]", is_headers=is_headers, is_searched=is_searched)


def _is_cut(value: list[Any]) -> bool:
    """Whether a list may be the pieces of one text, cut where a line is full."""
    return all(isinstance(one, str) for one in value)


def _is_credential(name: str) -> bool:
    return places().of_header(name) is Place.CREDENTIAL


def _is_redacted(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("[redacted")


def _recording(name: str, data: bytes, cassette: Cassette | None) -> Recording:
    template = cassette.about.template if cassette else None
    served = [one.model_served for one in cassette.responses if one.model_served] if cassette else []
    return Recording(
        file=name,
        digest=sha256_of(data),
        key=cassette.key if cassette else None,
        answers=len(cassette.responses) if cassette else 0,
        template=template.id if template else None,
        template_version=template.version if template else None,
        model_asked=cassette.about.model_asked if cassette else None,
        model_served=served[0] if served else None,
    )
