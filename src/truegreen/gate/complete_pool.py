# SPDX-License-Identifier: Apache-2.0
"""Checks of a pooling lane's chain: the newest ledger accounts for every earlier started attempt.

- An earlier attempt is named by digest with its samples, or as ``left-none``, or as ``other-key`` with its
  record beside; unnamed it holds.
- A record that is there must be what the newest embeds of it.
- ``left-none`` counts only when the attempt's artifact list is complete and has none of the lane's.
- ``other-key`` counts only when the record beside really has another key.
"""

from __future__ import annotations

from collections.abc import Iterator

from truegreen.core.decision import Cause
from truegreen.core.policy import CONTRACT_CHECK
from truegreen.gate.expected import Started
from truegreen.gate.ground import Ground
from truegreen.gate.model import Candidate, Link
from truegreen.gate.place import Place


def _named(place: Place) -> Iterator[tuple[Started, Link | None]]:
    """Each earlier member of a pooling lane with its link, once the newest record is there."""
    if place.kind.attempt == "pool" and place.newest and place.record_of(place.newest):
        for one in place.older:
            yield one, place.link_of(one)


def every_attempt_is_named(place: Place, ground: Ground) -> Iterator[Cause]:
    """No earlier started attempt is passed over."""
    del ground
    for one, link in _named(place):
        if link is None:
            yield place.hold("attempt-unaccounted", run_id=one.run.run_id, attempt=one.attempt.attempt)


def embedded_is_what_was_said(place: Place, ground: Ground) -> Iterator[Cause]:
    """What the newest record embeds of an earlier one is that record's own account."""
    del ground
    for one, link in _named(place):
        there = place.readable_of(one)
        if link is None or there is None or link.standing != "samples":
            continue
        if link.digest != there.digest or link.samples != place.kind.own_samples(there.body):
            yield place.block("earlier-differs", run_id=one.run.run_id, attempt=one.attempt.attempt)


def left_none_left_none(place: Place, ground: Ground) -> Iterator[Cause]:
    """An attempt that is said to have left nothing has no artifact and no record of the lane."""
    del ground
    for one, link in _named(place):
        if link is None or link.standing != "left-none":
            continue
        facts: dict[str, str | int] = {"run_id": one.run.run_id, "attempt": one.attempt.attempt}
        if place.readable_of(one) is not None:
            yield place.block("chain-contradicts", **facts)
        elif not one.attempt.artifacts_complete or one.has_artifact(place.lane.name, place.part):
            yield place.hold("earlier-not-read", **facts)


def other_key_is_another_key(place: Place, ground: Ground) -> Iterator[Cause]:
    """An attempt that is said to have judged something else did so, by its record beside."""
    del ground
    for one, link in _named(place):
        if link is None or link.standing != "other-key":
            continue
        facts: dict[str, str | int] = {"run_id": one.run.run_id, "attempt": one.attempt.attempt}
        there = place.readable_of(one)
        if there is None:
            yield place.hold("attempt-unaccounted", **facts)
        elif there.digest != link.digest or _is_same(there, place):
            yield place.block("chain-contradicts", **facts)


def links_lead_somewhere(place: Place, ground: Ground) -> Iterator[Cause]:
    """The newest record names only attempts that the index has, none twice, and takes samples only from its own.

    Samples of an attempt that did not start, or of one with another key, are no part of the sequence.
    """
    members = {(one.run.run_id, one.attempt.attempt) for one in place.older}
    named = [(link.run_id, link.run_attempt) for link in place.links]
    for link in place.links:
        pair = (link.run_id, link.run_attempt)
        run = ground.index.run(link.run_id) if ground.index else None
        is_listed = run is not None and any(a.attempt == link.run_attempt for a in run.attempts)
        is_told_right = run is not None and run.head_sha == link.head_sha and named.count(pair) == 1
        may_give = link.standing != "samples" or pair in members or _has_this_key(place, link)
        if not (is_listed and is_told_right and may_give):
            yield place.block("chain-contradicts", run_id=link.run_id, attempt=link.run_attempt)
            return


def _has_this_key(place: Place, link: Link) -> bool:
    """Whether the record of an attempt that is no member is there, has the current key and is told truly."""
    there = next((c for c in place.accepted if c.identity[:2] == (link.run_id, link.run_attempt)), None)
    return (
        there is not None
        and there.digest == link.digest
        and place.kind.own_samples(there.body) == link.samples
        and _key(there) == _key(place.newest_record)
    )


def _is_same(there: Candidate, place: Place) -> bool:
    """Whether a record judged what the newest judges; where replays may stand in, one of them judged otherwise."""
    was_replayed = place.lane.no_secrets is not None and there.kind.name == CONTRACT_CHECK
    return not was_replayed and _key(there) == _key(place.newest_record)


def _key(candidate: Candidate | None) -> tuple[str, str] | None:
    return (candidate.claims.ruler, candidate.claims.subject) if candidate else None


POOL_CHECKS = (
    every_attempt_is_named,
    embedded_is_what_was_said,
    left_none_left_none,
    other_key_is_another_key,
    links_lead_somewhere,
)
"""Every check of a chain, in order."""
