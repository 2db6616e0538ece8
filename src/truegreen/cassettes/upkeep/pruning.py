# SPDX-License-Identifier: Apache-2.0
"""Which recordings may go: those that a whole, green run did not play.

What it decides: whether a run may speak about what is unused, and which files that are. What it leaves: removing
them, to ``wiring``.

The rules, each of which refuses:
1. Everything ran to its end: never after a selection (``-k``), an interrupt, a part that did not end.
2. As many session files as the run had workers and shards: a missing shard's recordings look unused.
3. The command was green and nothing was missed: a red run did not come as far as it should.
4. The run was a replay: nothing left for an upstream.
5. The folder is the one that was played: every recording in it was either played or not, by name and key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from truegreen.cassettes.upkeep.listing import Seen
from truegreen.core.errors import EvidenceProblem
from truegreen.core.quoted import quoted
from truegreen.core.replay_session import ReplaySession, joined, refuse_doubled

CODE: Final = "cannot-prune"
_HINT: Final = "replay everything once, without a selection, and give every session file of that run"


def unused(sessions: Sequence[ReplaySession], parts: int, looked: Sequence[Seen]) -> tuple[str, ...]:
    """Files that may be removed; ``looked`` is every recording of the folder as it is now.

    Raises: EvidenceProblem ``cannot-prune``, ``no-session``, ``session-twice``, ``sessions-differ``.
    """
    if len(sessions) != parts:
        raise _refused(f"{len(sessions)} session files were given, the run had {parts} parts")
    refuse_doubled(sessions)
    whole = joined(sessions)
    if not whole.complete:
        raise _refused(
            f"the run was not complete: {quoted(whole.incomplete_because or 'no reason is given')}"
        )
    if whole.command_exit != 0:
        raise _refused(f"the command ended with {whole.command_exit}, 0 is asked")
    if whole.misses:
        raise _refused(f"{sum(miss.count for miss in whole.misses)} requests had no recording, 0 are asked")
    if whole.upstream_calls:
        raise _refused(f"{whole.upstream_calls} requests left for an upstream: this was no replay")
    _check_folder(whole, {one.file: one for one in looked})
    return whole.unused


def _check_folder(whole: ReplaySession, there: Mapping[str, Seen]) -> None:
    played = {hit.file: hit.key for hit in whole.hits}
    both = played.keys() & set(whole.unused)
    if both:
        raise _refused(f"{quoted(min(both))} was played and is unused in one account")
    known = played.keys() | set(whole.unused)
    for name in sorted(known ^ there.keys()):
        where = "is not in the folder any more" if name in known else "is not in the run's account"
        raise _refused(f"{quoted(name)} {where}: the recordings have changed since")
    for name, key in played.items():
        cassette = there[name].cassette
        if cassette is None or cassette.key != key:
            raise _refused(f"{quoted(name)} does not hold the request that the run played")


def _refused(sentence: str) -> EvidenceProblem:
    return EvidenceProblem(CODE, sentence, hint=_HINT)
