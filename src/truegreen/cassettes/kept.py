# SPDX-License-Identifier: Apache-2.0
"""Does an answer keep its contract?

What it decides: every place at which it does not, in words that repeat nothing of the answer. What it leaves: which
contract is asked, to whoever knows the template.

- Every choice must keep it. An answer that did not come to its own end keeps none: half an object may be valid.
- JSON is read strictly: a name twice, a number that a double cannot hold or more text around it is no JSON.
- An answer may be an error that was recorded on purpose: no contract speaks of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from truegreen.cassettes.contracts import Contract
from truegreen.cassettes.paths import spelled
from truegreen.cassettes.replies import Reply, replies
from truegreen.core.canonical import read_json, write_json
from truegreen.core.errors import EvidenceProblem

MOST_TOLD = 5
"""Most broken places of one answer that are told."""


class Broken(msgspec.Struct, frozen=True, kw_only=True):
    """One place at which an answer breaks its contract."""

    place: str
    """JSON path in the answer; names in it come from the model."""
    asked: str
    """What the contract asks there, by keyword and limit."""


def broken(contract: Contract, body: bytes, content_type: str) -> Iterator[Broken]:
    """Every place at which the answers of a body break the contract, at most ``MOST_TOLD`` an answer."""
    found = replies(body, content_type)
    for number, reply in enumerate(found):
        start = f"choice {number} " if len(found) > 1 else ""
        for at, one in enumerate(_of_reply(contract, reply)):
            if at < MOST_TOLD:
                yield msgspec.structs.replace(one, place=start + one.place)


def value_of(contract: Contract, reply: Reply) -> Any:
    """What the contract's schema is asked about.

    Raises: EvidenceProblem as ``read_json`` does, if the contract asks for JSON and the text is none.
    """
    match contract.answer:
        case "text":
            return reply.text
        case "tools":
            return [
                {"name": call.name, "arguments": read_json(call.arguments.encode() or b"{}")}
                for call in reply.calls.values()
            ]
    return read_json(reply.text.encode("utf-8", "replace"))


def _of_reply(contract: Contract, reply: Reply) -> Iterator[Broken]:
    if reply.finish is not None and reply.finish not in contract.finish:
        yield Broken(place="its end", asked=f"one of the finish reasons {', '.join(contract.finish)}")
        return
    if len(reply.text) > contract.max_characters:
        yield Broken(place="its text", asked=f"at most {contract.max_characters} characters")
    try:
        value = value_of(contract, reply)
    except EvidenceProblem as err:
        yield Broken(place="the top", asked=f"one JSON value, read strictly ({err.code})")
        return
    for error in _validator(write_json(contract.schema)).iter_errors(value):
        place = spelled(tuple(error.instance_path))
        yield Broken(place=place, asked=_asked(error))


def _asked(error: Any) -> str:
    """The keyword that refused, with its limit where the limit comes from the contract."""
    kind, limit = error.kind.name, error.kind.value
    if kind == "additionalProperties":
        return "no field that the contract does not name"
    if kind == "required":
        return f"a field {limit}"
    if kind in ("type", "enum"):
        return f"{kind} {', '.join(map(str, limit))[:80]}"
    shown = f" {limit}" if isinstance(limit, (int, float, str)) else ""
    return f"{kind}{shown[:80]}"


@lru_cache(maxsize=128)
def _validator(schema: bytes) -> Any:
    import jsonschema_rs  # noqa: PLC0415 - costs more than the rest of a start together

    return jsonschema_rs.Draft202012Validator(read_json(schema), validate_formats=True, offline=True)
