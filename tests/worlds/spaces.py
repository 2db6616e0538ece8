# SPDX-License-Identifier: Apache-2.0
"""The bounded worlds, family by family: each family walks the full product of what it varies."""

from itertools import product

from worlds.world import (
    BEHIND,
    FOREIGN,
    LEDGER,
    REFUSED,
    STALE,
    TWICE,
    Attempt,
    Job,
    Lane,
    Record,
    Run,
    Said,
    World,
)

RULES = ("pool", "exact", "carry")
OUTCOMES = ("holds", "fails", "unknown", "flaky")


def lane(rule="exact", role="required", name="one", *, parts=False, **more):
    """One lane."""
    return Lane(name=name, kind=f"probe-{rule}{'-parts' if parts else ''}", role=role, **more)


def job(one, state="done", part="all", *, artifact=True):
    """One job."""
    return Job(
        lane=one.name, part=part, state=state, artifact=artifact and state in ("done", "failed", "lost")
    )


def record(one, run=1, attempt=1, part="all", **more):
    """One record of a lane."""
    return Record(lane=one.name, part=part, run=run, attempt=attempt, **more)


def alone():
    """One lane, one attempt: every state of the job, outcome and fault, in every role, rule and quarantine."""
    faults = ("", *STALE, *FOREIGN, *REFUSED, TWICE)
    required = lane("exact", name="zero")
    for rule, role, state, quarantine in product(
        RULES,
        ("required", "consulted", "advisory"),
        ("done", "failed", "skipped", "waiting", "running", "lost"),
        ("none", "live"),
    ):
        one = lane(rule, role)
        is_alone = role == "required"
        lanes = (one,) if is_alone else (required, one)
        beside = [job(one, state)] if is_alone else [job(required), job(one, state)]
        kept = () if is_alone else (record(required),)
        runs = (Run(1, (Attempt(0, tuple(beside)),)),)
        yield World(lanes, runs, kept, quarantine=quarantine)
        for outcome, wrong in product(OUTCOMES, faults):
            is_plain = not wrong or (outcome == "holds" and quarantine == "none")
            if is_plain or (state == "done" and quarantine == "none"):
                left = record(one, outcome=outcome, wrong=wrong)
                yield World(lanes, runs, (*kept, left), quarantine=quarantine)


def indexes():
    """Every way in which the forge's list can be short, and a quarantine that is expired or dropped."""
    for rule, index, quarantine, outcome in product(
        RULES,
        ("whole", "none", "short", "jobs-short", "other-head", "no-pr", "old"),
        ("none", "live", "expired", "dropped"),
        OUTCOMES,
    ):
        one = lane(rule)
        runs = (Run(1, (Attempt(0, (job(one),)),)),)
        yield World((one,), runs, (record(one, outcome=outcome),), index=index, quarantine=quarantine)


def _attempts(states=("done", "lost", "running", "skipped", "waiting", "carried")):
    """(state, artifact, record) of one attempt: what ran and what it left."""
    for state in states:
        lefts = [None]
        if state in ("done", "lost", "running"):
            lefts += ["holds", "fails", "unknown", "!policy", "!repo", "!cut"]
        for left in lefts:
            if left is None and state in ("done", "lost"):
                yield state, True, None
            yield state, left is not None, left


def _left(one, left, attempt, chain=()):
    if left is None:
        return ()
    wrong = left[1:] if left.startswith("!") else ""
    return (record(one, attempt=attempt, outcome="holds" if wrong else left, wrong=wrong, chain=chain),)


def _chains(left):
    """What a second attempt may say of the first."""
    told = left if left and not left.startswith("!") else "holds"
    yield ()
    yield (Said(1, 1, "samples", told),)
    yield (Said(1, 1, "left-none"),)
    yield (Said(1, 1, "other-key"),)
    if left:
        yield (Said(1, 1, "samples", "holds" if told != "holds" else "unknown"),)
        yield (Said(1, 1, "samples", told, is_its_record=False),)


def reruns():
    """One lane, two attempts: everything that either may have left, and everything that the second may say."""
    for rule in RULES:
        one = lane(rule)
        for first, second in product(
            _attempts(), _attempts(("done", "lost", "running", "skipped", "carried"))
        ):
            runs = (
                Run(
                    1,
                    (
                        Attempt(0, (job(one, first[0], artifact=first[1]),)),
                        Attempt(10, (job(one, second[0], artifact=second[1]),)),
                    ),
                ),
            )
            tells = second[2] is not None and not second[2].startswith("!") and rule == "pool"
            for chain in _chains(first[2]) if tells else ((),):
                records = (*_left(one, first[2], 1), *_left(one, second[2], 2, chain))
                yield World((one,), runs, records)


def ledgers():
    """The product's own ledgers: two attempts, what each left, and what the second says of the first."""
    one = Lane(name="one", kind=LEDGER)
    firsts = (None, "holds", "fails", "unknown", "flaky", "!policy", "!repo", "!cut")
    for first, second, quarantine in product(firsts, (*OUTCOMES, None), ("none", "live")):
        runs = (Run(1, (Attempt(0, (job(one, artifact=first is not None),)), Attempt(10, (job(one),)))),)
        for chain in _chains(first) if second else ((),):
            if second == "flaky" and any(said.standing == "left-none" for said in chain):
                continue  # a second sequence has its own share of alpha: another number of samples is flaky there
            yield World(
                (one,), runs, (*_left(one, first, 1), *_left(one, second, 2, chain)), quarantine=quarantine
            )


def losses():
    """Up to four attempts of an exact or carry-over lane, lost to the runner or not: ``retries`` is two."""
    kinds = (
        ("lost", False, None),
        ("lost", True, None),
        ("done", True, "holds"),
        ("done", True, "fails"),
        ("done", True, "unknown"),
    )
    for rule, count in (("exact", 3), ("carry", 4)):
        one = lane(rule)
        for tried in product(kinds, repeat=count):
            attempts = tuple(
                Attempt(10 * at, (job(one, state, artifact=artifact),), lists_artifacts=True)
                for at, (state, artifact, _) in enumerate(tried)
            )
            records = tuple(
                left for at, (_, _, left_) in enumerate(tried, start=1) for left in _left(one, left_, at)
            )
            yield World((one,), (Run(1, attempts),), records)


def parts():
    """Two parts, two attempts: a part that a re-run did not repeat keeps its attempt."""
    states = (("done", "holds"), ("done", "fails"), ("done", None), ("skipped", None), ("carried", None))
    for rule in RULES:
        one = lane(rule, parts=True)
        for a1, b1, a2, b2 in product(states[:2], states[:4], states, states):
            jobs = [
                tuple(
                    job(one, state, part, artifact=left is not None)
                    for part, (state, left) in zip("ab", row, strict=True)
                )
                for row in ((a1, b1), (a2, b2))
            ]
            runs = (Run(1, (Attempt(0, jobs[0]), Attempt(10, jobs[1]))),)
            first = {"a": a1[1], "b": b1[1]}
            records = [record(one, 1, 1, p, outcome=left) for p, left in first.items() if left]
            for part, (_, left) in (("a", a2), ("b", b2)):
                if left:
                    said = Said(1, 1, "samples", first[part]) if first[part] else Said(1, 1, "left-none")
                    has_before = rule == "pool" and (a1 if part == "a" else b1)[0] == "done"
                    records.append(record(one, 1, 2, part, outcome=left, chain=(said,) if has_before else ()))
            yield World((one,), runs, tuple(records))


def roles():
    """Two lanes: a required one and one of every role and rule, each with everything that it may have left."""
    lefts = (None, "holds", "fails", "unknown", "flaky", "!policy", "!repo", "!cut", "!key-twice")
    for rule, other_rule, role, quarantine in product(
        ("pool", "exact"), RULES, ("required", "consulted", "advisory"), ("none", "live")
    ):
        one, two = lane(rule), lane(other_rule, role, "two")
        runs = (Run(1, (Attempt(0, (job(one), job(two))),)),)
        for left, other in product(lefts[:5], lefts):
            records = (*_left(one, left, 1), *_left(two, other, 1))
            yield World((one, two), runs, records, quarantine=quarantine)


def other_runs():
    """Two runs in either order: the other of this head, an earlier, a stranger's or a fork's, a push's, or another workflow's."""
    for rule, runs_key, head, workflow, at in product(
        RULES,
        ("same-tree", "this"),
        ("head", "same", "other", "stranger", "fork", "push"),
        ("lanes", "else"),
        (0, 20),
    ):
        one = lane(rule, runs=runs_key)
        if at == 20 and head not in ("head", "push"):
            continue
        is_fork, is_push = head == "fork", head == "push"
        where = "head" if is_fork or is_push else head
        runs = (
            Run(1, (Attempt(10, (job(one),)),)),
            Run(
                2,
                (Attempt(at, (job(one),)),),
                head=where,
                workflow=workflow,
                is_of_fork=is_fork,
                is_push=is_push,
            ),
        )
        for left, other in product(("holds", "fails", None), ("holds", "fails", "unknown", None)):
            told = [()]
            if rule == "pool" and left and other:
                told += [(Said(2, 1, "samples", other),), (Said(2, 1, "other-key"),)]
            for chain in told:
                mine = _left(one, left, 1, chain)
                theirs = (record(one, 2, outcome=other),) if other else ()
                yield World((one,), runs, (*mine, *theirs))


def bases():
    """Evidence against the newest base, an older one, or one that is not on the branch, for lanes of both minds."""
    for rule, base, wrong, outcome in product(
        RULES, ("ancestor", "tip"), ("", BEHIND, "off-branch"), OUTCOMES
    ):
        one = lane(rule, base=base)
        runs = (Run(1, (Attempt(0, (job(one),)),)),)
        yield World((one,), runs, (record(one, outcome=outcome, wrong=wrong),))
    one = lane("pool")
    runs = (Run(1, tuple(Attempt(at, (job(one),)) for at in (0, 50))),)
    for event, wrong, standing in product(
        ("pull_request", "push", "merge_group"), (BEHIND, "off-branch"), ("samples", "left-none", "other-key")
    ):
        said = (Said(1, 1, standing, "holds" if standing == "samples" else None),)
        records = (record(one, wrong=wrong), record(one, attempt=2, chain=said))
        yield World((one,), runs, records, event=event)


def twins():
    """Two jobs of one name, in the newest attempt, in an older one, in a run that does not count."""
    for rule, where, left in product(RULES, ("newest", "older", "else", "part"), ("holds", "fails", None)):
        one = lane(rule, parts=where == "part")
        double, single = (job(one, part="a" if where == "part" else "all"),) * 2, (job(one),)
        if where == "part":
            attempts = (Attempt(0, (*double, job(one, part="b"))),)
            records = [record(one, part=p, outcome=left) for p in "ab" if left]
        elif where == "else":
            attempts = (Attempt(0, single),)
            records = [record(one, outcome=left)] if left else []
        else:
            attempts = (
                Attempt(0, double if where == "older" else single),
                Attempt(10, single if where == "older" else double),
            )
            records = [record(one, attempt=2, outcome=left)] if left else []
        elsewhere = (Run(2, (Attempt(5, double),), workflow="else"),) if where == "else" else ()
        yield World((one,), (Run(1, attempts), *elsewhere), tuple(records))


def unlisted():
    """An attempt that has not ended and does not list the job yet; one whose artifact list is short."""
    for rule, ended, lists, state in product(RULES, (True, False), (True, False), ("done", "lost")):
        one = lane(rule)
        for left, said in product((None, "holds", "fails"), (None, "left-none", "samples")):
            attempts = (
                Attempt(0, (job(one, state, artifact=False),), lists_artifacts=lists),
                Attempt(10, (job(one),)),
            )
            again = (Attempt(20, (), ended=ended),)
            chain = (Said(1, 1, said, left),) if said and (left or said == "left-none") else ()
            records = (*_left(one, left, 1), record(one, attempt=2, chain=chain if rule == "pool" else ()))
            yield World((one,), (Run(1, (*attempts, *again)),), records)


def queue():
    """A merge group: its own evidence, the pull request's of the same tree, of one tested on an older base."""
    for rule, head, state, more in product(
        RULES,
        ("pr", "pr-behind", "lost"),
        ("done", "skipped"),
        ({}, {"runs": "this"}, {"base": "tip"}),
    ):
        one = lane(rule, **more)
        runs = (
            Run(1, (Attempt(20, (job(one, state),)),)),
            Run(2, (Attempt(0, (job(one),)),), head=head),
        )
        lefts = ("holds", "fails", "!behind", None) if state == "done" else (None,)
        for left, other in product(lefts, ("holds", "fails", "!behind", None)):
            outcome, wrong = ("holds", BEHIND) if other == "!behind" else (other, "")
            told = [()]
            if rule == "pool" and left:
                told += [(Said(2, 1, "samples", outcome or "holds"),), (Said(2, 1, "other-key"),)]
            for chain in told:
                theirs = (record(one, 2, outcome=outcome, wrong=wrong),) if outcome else ()
                yield World((one,), runs, (*_left(one, left, 1, chain), *theirs), event="merge_group")


def pushes():
    """A push: one attempt, everything that may be wrong with what it left."""
    for rule, outcome, wrong in product(RULES, OUTCOMES, ("", *STALE, *FOREIGN)):
        one = lane(rule)
        runs = (Run(1, (Attempt(0, (job(one),)),)),)
        yield World((one,), runs, (record(one, outcome=outcome, wrong=wrong),), event="push")


def extras():
    """A full set and a file more: about the same attempt, about another, for another lane, damaged."""
    more = ["", *STALE, *FOREIGN, *REFUSED, TWICE]
    for rule, outcome, wrong, second in product(RULES, ("holds", "fails", "unknown"), more, OUTCOMES):
        one = lane(rule)
        runs = (Run(1, (Attempt(0, (job(one),)),)),)
        full = record(one, outcome=outcome)
        yield World((one,), runs, (full, record(one, outcome=second, wrong=wrong, copy=1)))
    for rule, outcome, second in product(RULES, OUTCOMES, OUTCOMES):
        one = lane(rule)
        runs = (Run(1, (Attempt(0, (job(one),)),)),)
        gone = Record(lane="gone", part="all", run=1, attempt=1, outcome=second)
        yield World((one,), runs, (record(one, outcome=outcome), gone))


FAMILIES = {
    "alone": alone,
    "indexes": indexes,
    "reruns": reruns,
    "ledgers": ledgers,
    "losses": losses,
    "parts": parts,
    "roles": roles,
    "other-runs": other_runs,
    "bases": bases,
    "twins": twins,
    "unlisted": unlisted,
    "queue": queue,
    "pushes": pushes,
    "extras": extras,
}
"""Every family, by name."""
