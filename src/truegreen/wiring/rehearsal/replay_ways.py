# SPDX-License-Identifier: Apache-2.0
"""Ways to fool the gate with a replay, one row each; tried where the checkout's policy has a lane that is replayed.

What it decides: the rows and their inputs. What it leaves: honest recordings and replays, to ``replays``; trying the
rows through the real gate, to ``run``.

- The first row needs no such lane: a replay that is passed off as samples.
- ``defences`` names the checks of ``gate.replay_lane`` in a row's way; a test takes each away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from truegreen.core.digest import Sha256
from truegreen.core.outcome import Word
from truegreen.core.policy import Lane
from truegreen.core.record import Envelope
from truegreen.core.replay_session import Missed
from truegreen.wiring.rehearsal import replays
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal.honest import Actors
from truegreen.wiring.rehearsal.setting import Setting
from truegreen.wiring.rehearsal.tricks import put
from truegreen.wiring.rehearsal.ways import Way

HOLD, BLOCK = Word.HOLD, Word.BLOCK
STRANGER = "stranger@example.invalid"
MISSED = Missed(code="cassette-missing", key=Sha256("sha256:" + "4" * 64), count=1)
OTHER_FILES = "h1:" + "A" * 43 + "="


def replayed_lane(setting: Setting) -> Lane | None:
    """The first required lane that is replayed."""
    lanes = (cast.lane for cast in setting.casts if cast.is_replayed and cast.lane.role == "required")
    return next(lanes, None)


def _has_one(setting: Setting) -> bool:
    return replayed_lane(setting) is not None


def _lane(actors: Actors) -> Lane:
    found = replayed_lane(actors.setting)
    if found is None:
        raise LookupError("the policy has no lane that is replayed")  # no row is tried then
    return found


def _path(actors: Actors) -> str:
    return on.evidence_path(_lane(actors).name, "all", 1)


def _replay(**changes: Any) -> Callable[[Actors], on.Stage]:
    """The honest stage with another account of the replay."""
    return lambda actors: actors.stage.with_evidence(_path(actors), actors.replay(_lane(actors), **changes))


def as_samples(actors: Actors) -> on.Stage:
    """A replay lies where the ledger of the sampled lane is asked for."""
    return put(actors, actors.replay(actors.lane))


def played_nothing(actors: Actors) -> on.Stage:
    """The replay is whole, and no recording answered anything."""
    record = actors.stage.ledgers[_path(actors)]
    unused = tuple(one["file"] for one in record.body["recordings"])
    return _replay(hits=(), unused=unused)(actors)


def by_a_stranger(actors: Actors) -> on.Stage:
    """A recording more, committed by somebody whom the base does not list, and played."""
    more = replays.recordings(
        actors.stage.git.folder.parent / "more",
        ((replays.request(), replays.answer()), (replays.request("and now?"), replays.answer())),
    )
    return _on_head(actors, more).stage


def breaking(actors: Actors) -> on.Stage:
    """An answer that breaks its contract; the record keeps silent about it."""
    bad = ((replays.request(), replays.answer('{"label": "maybe"}')),)
    more = replays.recordings(actors.stage.git.folder.parent / "bad", bad)
    moved = _on_head(actors, more)
    record: Envelope = moved.stage.ledgers[_path(actors)]
    silent = msgspec.structs.replace(record, body={**record.body, "findings": []})
    return moved.stage.with_evidence(_path(actors), silent)


def _on_head(actors: Actors, recordings: dict[str, bytes]) -> Actors:
    """The actors on a head whose folder holds these files, each lane replayed and sampled honestly."""
    folder = _lane(actors).cassettes
    files = {**actors.files, **{f"{folder}/{name}": data for name, data in recordings.items()}}
    branch = actors.setting.branch("change")
    head = actors.stage.git.commit(files, (actors.base,), branch, author=STRANGER)
    facts = msgspec.structs.replace(actors.stage.facts, head_sha=head)
    index = actors.stage.index
    if index is not None:
        runs = tuple(msgspec.structs.replace(run, head_sha=head) for run in index.runs)
        index = msgspec.structs.replace(index, head_sha=head, runs=runs)
    stage = replace(actors.stage, facts=facts, index=index)
    return replace(actors, stage=stage, files=files).with_honest_evidence()


REPLAY_WAYS: tuple[Way, ...] = (
    Way(
        id="replay-as-samples",
        words="a replay of one recording is passed off as samples",
        word=HOLD,
        code="wrong-kind",
        defences=("kind_matches",),
        told="wrong-kind",
        trick=as_samples,
    ),
    Way(
        id="replay-missed",
        words="a request had no recording, and the code under test swallowed that",
        word=BLOCK,
        code="recording-missing",
        defences=("every_request_was_recorded",),
        needs=_has_one,
        trick=_replay(misses=(MISSED,)),
    ),
    Way(
        id="replay-in-part",
        words="only a part of the tests was replayed",
        word=HOLD,
        code="replay-incomplete",
        defences=("replay_was_whole",),
        needs=_has_one,
        trick=_replay(complete=False, incomplete_because="tests were deselected"),
    ),
    Way(
        id="replay-killed",
        words="the replay was killed before it ended",
        word=HOLD,
        code="replay-incomplete",
        defences=("replay_was_whole",),
        needs=_has_one,
        trick=_replay(command_exit=None),
    ),
    Way(
        id="replay-failed",
        words="the tests failed on the recorded answers",
        word=BLOCK,
        code="replay-failed",
        defences=("command_held",),
        needs=_has_one,
        trick=_replay(command_exit=1),
    ),
    Way(
        id="replay-reached-out",
        words="a client went past the proxy and was stopped",
        word=BLOCK,
        code="replay-reached-out",
        defences=("nothing_left",),
        needs=_has_one,
        trick=_replay(guard_stops=1),
    ),
    Way(
        id="replay-recorded-meanwhile",
        words="a recording appeared while it was replayed",
        word=BLOCK,
        code="recordings-changed",
        defences=("recordings_stayed",),
        needs=_has_one,
        trick=_replay(after=OTHER_FILES),
    ),
    Way(
        id="replay-of-nothing",
        words="the tests ask nothing any more",
        word=HOLD,
        code="nothing-replayed",
        defences=("something_was_replayed", "every_recording_was_played"),
        needs=_has_one,
        trick=played_nothing,
    ),
    Way(
        id="replay-by-a-stranger",
        words="a stranger commits the answer that the tests see",
        word=HOLD,
        code="recording-unvouched",
        defences=("everything_is_vouched_for",),
        needs=_has_one,
        trick=by_a_stranger,
    ),
    Way(
        id="replay-of-a-broken-contract",
        words="the recorded answer breaks its contract, and the record keeps silent about it",
        word=BLOCK,
        code="contract-broken",
        defences=("recordings_keep_their_contracts", "everything_is_vouched_for"),
        needs=_has_one,
        trick=breaking,
    ),
)
"""Every row, in the order in which they are shown."""
