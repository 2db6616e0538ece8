# SPDX-License-Identifier: Apache-2.0
"""Which word a world deserves, said again in other words than the gate's. Imports nothing of the gate.

The property: **admit** only if for every required lane (and every consulted one, which may stop) there is a complete,
unforged, fresh set of records for this tree, base and policy whose outcome holds or is excused by a live entry; and no
record of another role changed that. **block** if the evidence says no, contradicts itself or is foreign; **hold** if it
is absent, partial, stale, undecided or unreadable. The heavier word wins.
"""

from worlds.world import BEHIND, FOREIGN, LEDGER, OF_PULL_REQUEST, RAN, REFUSED, STALE, TWICE

RETRIES = 2
"""Attempts lost to the runner that an exact lane may have."""


def word(world):
    """``admit``, ``hold`` or ``block``."""
    said = set(words(world))
    return "block" if "block" in said else "hold" if "hold" in said else "admit"


def words(world):
    """Everything that speaks against admitting."""
    if world.quarantine == "expired":
        yield "hold"
    for record in world.records:
        yield from of_file(record, world)
    for lane in world.lanes:
        if lane.role != "advisory":
            if world.index != "whole":
                yield "hold"
            for part in lane.parts:
                yield from Place(lane, part, world).words()


def of_file(record, world):
    """What a file says by being there at all."""
    if record.wrong == TWICE:
        yield "block"
    elif record.wrong in REFUSED:
        yield "hold"
    elif standing(record, world) == "foreign":
        yield "block"


def standing(record, world):
    """``fresh``, ``stale``, ``foreign``, or ``nothing`` for what advice and lanes that base lacks bring."""
    lane = next((one for one in world.lanes if one.name == record.lane), None)
    if lane is None or lane.role == "advisory":
        return "nothing"
    if record.wrong == "local":
        return "stale"
    if record.wrong in ("repo", "workflow") or is_elsewhere(record, world):
        return "foreign"
    if record.wrong in ("part", "run") or world.index == "none":
        return "stale"
    if record.wrong in FOREIGN[3:6] or not began(record, world):
        return "foreign"
    if record.wrong in STALE or stale_run(record, lane, world) or is_of_push(record, world):
        return "stale"
    if record.wrong == BEHIND and (lane.base == "tip" or is_of_group(record, world)):
        return "stale"
    return "foreign" if record.wrong in ("ruler", "subject", "components") else "fresh"


def is_of_group(record, world):
    """Whether the record is the group's own: its base is the one that the group is built on, and no other."""
    heads = {run.head for run in world.runs if run.id == record.run}
    return world.event == "merge_group" and not heads & {*OF_PULL_REQUEST}


def is_of_push(record, world):
    """Whether the record comes from a run that a push started, where a pull request asks."""
    return any(run.is_push for run in world.runs if run.id == record.run)


def is_elsewhere(record, world):
    """Whether the record says another workflow or another head repository than is asked for.

    A queue brings records of pull requests, which may come from forks: there the forge's list alone speaks.
    """
    run = next((one for one in world.runs if one.id == record.run), None)
    if run is not None and run.workflow == "else":
        return True
    says_fork = record.wrong == "fork" or (run is not None and run.is_of_fork)
    is_of_pull_request = world.event == "merge_group" and run is not None and run.head in OF_PULL_REQUEST
    return says_fork and not (is_of_pull_request and record.wrong != "event")


def began(record, world):
    """Whether the forge says that the record's job ran in the record's attempt, in the repository that it names."""
    return any(
        run.id == record.run
        and at + 1 == record.attempt
        and job.state in RAN
        and (run.is_of_fork or record.wrong != "fork")
        for run in world.runs
        for at, attempt in enumerate(run.attempts)
        for job in attempt.jobs
        if (job.lane, job.part) == (record.lane, record.part)
    )


def stale_run(record, lane, world):
    """Whether the record's run is one that the lane does not read."""
    head = next((run.head for run in world.runs if run.id == record.run), "")
    if lane.runs == "this":
        return record.run != world.gate_run
    return head in ("pr-behind", "stranger", "lost") or (head in ("same", "other") and lane.rule != "pool")


def members(lane, part, world):
    """(start, run, attempt, job) of every attempt in which the job began and that counts for the lane, oldest first."""
    found = []
    for run in counting(lane, world):
        for number, attempt in enumerate(run.attempts, start=1):
            for job in attempt.jobs:
                is_it = (job.lane, job.part) == (lane.name, part) and not twins(attempt, lane, part)
                if is_it and job.state in RAN:
                    found.append((attempt.at, run.id, number, job, attempt))
    return sorted(found, key=lambda one: one[0])


def twins(attempt, lane, part):
    """Whether two jobs of an attempt have the name of the lane's one."""
    return sum((job.lane, job.part) == (lane.name, part) for job in attempt.jobs) > 1


def cannot_be_told(lane, world):
    """Whether the lane ran on a head that the clone does not have, so that nobody can say whether it counts."""
    asked = lane.runs == "same-tree" and (lane.rule == "pool" or world.event == "merge_group")
    ran_there = [run for run in world.runs if run.head == "lost" and run.workflow == "lanes"]
    return world.index != "none" and ((asked and ran_there) or (lane.rule == "pool" and ran_there))


def counting(lane, world):
    """The runs whose attempts count."""
    for run in world.runs if world.index != "none" else ():
        is_read = run.head in ("head", "pr", "pr-behind") or (run.head == "same" and lane.rule == "pool")
        if run.workflow == "lanes" and (run.id == world.gate_run if lane.runs == "this" else is_read):
            yield run


def expected(world):
    """The records that are members of the expected set: without one of them nothing may be admitted."""
    for lane in world.lanes:
        for part in lane.parts if lane.role != "advisory" else ():
            ran = members(lane, part, world)
            for one in ran[-1:] if lane.rule == "pool" else ran:
                was_taken_away = one[3].state == "lost" and not one[3].artifact and one is not ran[-1]
                here = (*one[1:3], lane.name, part)
                found = [r for r in world.records if r.is_readable and identity(r) == here]
                if not was_taken_away and len(found) == 1 and standing(found[0], world) == "fresh":
                    yield found[0]


class Place:
    """One part of one lane: what ran there, what lies there, and what that says."""

    def __init__(self, lane, part, world):
        self.lane, self.part, self.world = lane, part, world
        self.ran = members(lane, part, world)
        self.records = [
            one
            for one in world.records
            if one.is_readable and (one.lane, one.part) == (lane.name, part) and one.wrong != "part"
        ]

    def readable(self, one):
        """The record of an attempt, whatever is wrong with it."""
        return next((r for r in self.records if identity(r)[:2] == one[1:3]), None)

    def fresh(self, one):
        """The record of an attempt, if it counts."""
        there = [r for r in self.records if identity(r)[:2] == one[1:3]]
        return next((r for r in there if standing(r, self.world) == "fresh"), None)

    def words(self):
        """Everything that speaks against this part."""
        yield from self.about_the_list()
        if not self.ran:
            yield "hold"
            return
        newest = self.fresh(self.ran[-1])
        if newest is None or self.ran[-1][3].state in ("lost", "failed"):
            yield "hold"
        speaks = next((r for one in reversed(self.ran) if (r := self.fresh(one)) is not None), None)
        older = [r for one in self.ran if (r := self.fresh(one)) is not None and r is not speaks]
        if self.lane.rule == "pool":
            yield from () if newest is None else of_chain(newest, self)
            named = {(said.run, said.attempt) for said in newest.chain} if newest else set()
            older = [r for r in older if identity(r)[:2] not in named]
        else:
            yield from of_older(self)
        if any(verdict(r, self.lane) == "fails" for r in older):
            yield "block"
        if speaks is not None:
            yield from of_outcome(speaks, self.lane, self.world)

    def about_the_list(self):
        """What the forge's list and the mere number of files say."""
        counting_runs = list(counting(self.lane, self.world))
        texts = {}
        if any(texts.setdefault(identity(r), r) != r for r in self.records):
            yield "block"
        if any(twins(attempt, self.lane, self.part) for run in counting_runs for attempt in run.attempts):
            yield "block"
        is_open = any(one[3].state == "running" for one in self.ran)
        pushes = {run.id for run in counting_runs if run.is_push}
        if any(one[1] in pushes for one in self.ran):  # it measured the same, and its records cannot count
            yield "hold"
        if is_open or cannot_be_told(self.lane, self.world) or may_start(self):
            yield "hold"


def identity(record):
    """Run, attempt, lane and part that the record names; ``wrong`` may say another run or attempt than it came from."""
    run = 9999 if record.wrong == "run" else record.run
    attempt = record.attempt + 50 if record.wrong == "attempt" else record.attempt
    return (run, attempt, record.lane, record.part)


def may_start(place):
    """Whether the job waits, or cannot be told not to run, in the newest attempt of a run that counts."""
    for run in counting(place.lane, place.world):
        last = run.attempts[-1]
        states = [job.state for job in last.jobs if (job.lane, job.part) == (place.lane.name, place.part)]
        if place.ran and ("waiting" in states or (not states and not last.ended)):
            return True
    return False


def of_older(place):
    """Exact and carry-over: every older attempt left its record, or was lost to the runner, not too often."""
    lost = 0
    for one in place.ran[:-1]:
        _, _, _, job, attempt = one
        left_something = job.artifact or not attempt.lists_artifacts or place.readable(one) is not None
        if place.fresh(one) is not None:
            continue
        if job.state == "lost" and not left_something:
            lost += 1
        else:
            yield "hold"
    if lost > RETRIES:
        yield "hold"


def of_chain(newest, place):
    """Pool: the newest record accounts truly for every earlier attempt, and for nothing else."""
    known = {(one[1], one[2]): one for one in place.ran[:-1]}
    for said in newest.chain:
        is_made_up = said.standing == "samples" or not listed(said, place.world)
        if (said.run, said.attempt) not in known and is_made_up:
            yield "block"
    for at, one in known.items():
        said = next((s for s in newest.chain if (s.run, s.attempt) == at), None)
        yield from of_said(said, one, place)


def of_said(said, one, place):
    """What the newest record says of one earlier attempt, against what is known of it."""
    record, job, attempt = place.readable(one), one[3], one[4]
    match said.standing if said else "":
        case "samples":
            if record is not None and not (said.is_its_record and said.outcome == record.outcome):
                yield "block"
        case "left-none":
            if record is not None:
                yield "block"
            elif job.artifact or not attempt.lists_artifacts:
                yield "hold"
        case "other-key" if record is not None:
            if not said.is_its_record or not judged_another_tree(record, place.world):
                yield "block"
        case _:
            yield "hold"


def judged_another_tree(record, world):
    """Whether a record judged something else; whatever else may be wrong with it, in these worlds it judged the same."""
    return record.wrong in ("tree", "off-branch") or any(
        run.head == "pr-behind" for run in world.runs if run.id == record.run
    )


def listed(said, world):
    """Whether the forge knows the attempt."""
    return any(run.id == said.run and said.attempt <= len(run.attempts) for run in world.runs)


def verdict(record, lane):
    """What a record says, with what it embeds of earlier attempts.

    Samples of a ledger are one sequence: what decides first stands. A probe has no samples; a failure stands.
    """
    outcomes = [*(said.outcome for said in record.chain if said.standing == "samples"), record.outcome]
    if lane.kind == LEDGER:
        return next((one for one in outcomes if one != "unknown"), "unknown")
    return "fails" if "fails" in outcomes else record.outcome


def of_outcome(record, lane, world):
    """What the record that speaks for the part says."""
    outcome = verdict(record, lane)
    is_excused = lane.role == "required" and world.quarantine == "live"
    if outcome == "fails":
        yield "block"
    elif outcome == "unknown" or (outcome == "flaky" and not is_excused):
        yield "hold"
