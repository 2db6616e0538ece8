# SPDX-License-Identifier: Apache-2.0
"""The body of a ``contract-check`` record: one replay and the recordings that it was made from.

What it decides: the wire shape. What it leaves: what it is worth, to the gate, which reads the recordings of the
tested tree itself and believes the record only what nothing else can tell: the replay.

- It is never a ledger: a recording that answers a hundred times is one answer.
- ``session`` is null where recordings were only read: such a record shows no replay and satisfies no lane.
- No finding repeats what a recording says; a secret is named by its place alone.
"""

# No annotations from __future__: msgspec reads these, and as texts each would be compiled at every start.

from collections.abc import Callable, Mapping

import msgspec

from truegreen.core.digest import Sha256
from truegreen.core.replay_session import ReplaySession

SCHEMA = "truegreen/contract-check/v1"
WEIGHTS = ("fails", "unknown", "note")
"""What a finding says: no, that it cannot be told, or that somebody should know."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """One thing that is wrong with the recordings."""

    code: str
    """Kebab-case code, an entry of the reason catalogue."""
    weight: str
    """One of ``WEIGHTS``."""
    file: str
    """File that it is about, from the folder of the recordings; empty for the folder itself."""
    place: str = ""
    """Where in the file: a JSON path."""
    template: str = ""
    """Template id, where it is known."""
    owner: str = ""
    """Who answers for the template's prompt."""
    problem: str = ""
    """What was found and what is asked, in a sentence without any text of the recording that could be a secret."""


class Recording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One recording that was there."""

    file: str
    """Its file, from the folder of the recordings."""
    digest: Sha256
    """Digest of the file's bytes."""
    key: Sha256 | None
    """Key of the request; null where the file cannot be read."""
    answers: int
    """How many answers it holds, in their order; 0 where the file cannot be read."""
    template: str | None
    """Template id, where the request names one."""
    template_version: str | None
    """Its version, where the request names one."""
    model_asked: str | None
    """Model that the request named."""
    model_served: str | None
    """Model that the answer named."""


class Made(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A digest and what it is made of, so that a change says what moved."""

    digest: Sha256
    """Digest over the components' names and digests."""
    components: dict[str, str]
    """Component name to its ``h1:`` or ``sha256:`` digest."""


class ContractCheckBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole body."""

    policy_digest: Sha256
    """Digest of the policy file that the producer applied."""
    ruler: Made
    """What judged."""
    subject: Made
    """What was judged."""
    folder: str
    """Folder of the recordings, from the root."""
    recordings: tuple[Recording, ...]
    """Every recording of the folder, by file."""
    findings: tuple[Finding, ...]
    """What the producer found wrong, worst first."""
    session: ReplaySession | None
    """The replay; null if there was none."""


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What a folder holds and what is wrong with it."""

    recordings: tuple[Recording, ...]
    """Every file that is a recording by its name, by file."""
    findings: tuple[Finding, ...]
    """Findings in the order of triage, then by file."""

    @property
    def weights(self) -> frozenset[str]:
        """The weights that stand against it."""
        return frozenset(finding.weight for finding in self.findings)


Check = Callable[[Mapping[str, bytes | None]], Checked]
"""Checks a folder of recordings by its files; None stands for what is no regular file."""
