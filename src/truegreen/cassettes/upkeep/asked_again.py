# SPDX-License-Identifier: Apache-2.0
"""Whether the request of a recording may be asked once more, and where its credentials stood.

What it decides: whether a recording still holds everything of its request. What it leaves: its bytes, to ``rebuilt``;
adding a credential and sending, to ``wiring``.

- The request that is rebuilt must have the recording's own key: nothing else is asked in its name.
- A request that was stored without its secrets, or without volatile values, cannot be asked again as it was.
- Credentials were never stored; the places that held them are told.
"""

from __future__ import annotations

from typing import Final

from truegreen.cassettes.cassette import Cassette
from truegreen.cassettes.cassette_file import rules_of, stored_document
from truegreen.cassettes.key import key_of
from truegreen.cassettes.rebuilt import rebuilt
from truegreen.cassettes.rules import KeyRules
from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import TEMPLATE, TEMPLATE_VERSION, Asked

CODE: Final = "cannot-be-asked-again"
OUR_HEADERS: Final = frozenset({TEMPLATE, TEMPLATE_VERSION})
"""Headers that name the template; they never reach an endpoint."""


def asked_of(cassette: Cassette, rules: KeyRules | None = None) -> Asked:
    """The request of a recording, without credentials.

    Raises: EvidenceProblem ``cannot-be-asked-again``.
    """
    if cassette.about.redactions:
        raise _cannot("a secret was taken out of the stored request")
    if any(one.count for one in cassette.about.ignored.paths):
        raise _cannot("values at volatile paths were not keyed, and may be of another day")
    document = stored_document(cassette)
    rules = rules or rules_of(cassette)
    try:
        asked = rebuilt(document)
    except EvidenceProblem as err:
        raise _cannot(err.message) from err
    if key_of(asked, rules) != cassette.key:
        raise _cannot("what can be put together from the file has another key")
    return asked


def credential_places(cassette: Cassette) -> tuple[tuple[str, str], ...]:
    """Where credentials stood: ``header`` or ``query``, and the name in lower case."""
    places = (text.partition(" ") for text in cassette.about.ignored.credentials)
    return tuple((kind, name) for kind, _, name in places if name)


def _cannot(sentence: str) -> EvidenceProblem:
    return EvidenceProblem(CODE, f"this recording cannot be asked again as it was: {sentence}")
