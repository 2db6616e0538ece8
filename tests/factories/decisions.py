# SPDX-License-Identifier: Apache-2.0
"""Decisions for tests of everything that shows one: small builders, and one decision for each named defect.

A defect's decision is what the gate gives for it: same codes, same facts, same rows.
"""

from collections.abc import Callable

from truegreen.core.decision import SCHEMA, About, CaseRow, Cause, Decision, LaneRow, Member, SeenFile
from truegreen.core.digest import Sha256
from truegreen.core.outcome import Outcome, Word

NOW = "2026-11-29T17:00:00Z"
HEAD = "3f2c1d9" + "0" * 33
TIP = "91ab02c" + "1" * 33
TREE = "7" * 40
RUN = 4711


def digest(letter: str) -> Sha256:
    """A whole digest of one repeated letter."""
    return Sha256("sha256:" + letter * 64)


def about(**changed) -> About:
    """A pull request from a branch of the same repository."""
    return About(
        **{
            "repo": "acme/changelog-bot",
            "head_repo": "acme/changelog-bot",
            "pull_request": 12,
            "event": "pull_request",
            "head_sha": HEAD,
            "head_tree": TREE,
            "base_ref": "main",
            "base_tip": TIP,
            "default_branch": "main",
            "run_id": RUN,
            "run_attempt": 2,
            "workflow": ".github/workflows/truegreen.yml",
            "local": False,
            **changed,
        }
    )


def case(name: str, passed: int = 6, asked: int = 6, **changed) -> CaseRow:
    """A case of the suite; a plain pass unless told otherwise."""
    return CaseRow(
        **{
            "id": f"tests/llm/test_notes.py::{name}",
            "passed": passed,
            "asked": asked,
            "state": "stable-pass",
            "why": "none",
            "then": "merge",
            "row": "stable-pass",
            "bound_low": 0.56,
            "bound_high": 1.0,
            "proves": "works at least 56 % of the time (95 % sure)",
            "buckets": {"fail": asked - passed, "pass": passed},
            **changed,
        }
    )


def broken(name: str = "test_tone", **changed) -> CaseRow:
    """A case that never passed."""
    return case(
        name,
        **{
            "passed": 0,
            "asked": 5,
            "state": "never-passed",
            "why": "none",
            "then": "block",
            "row": "never-passed",
            "bound_low": 0.0,
            "bound_high": 0.46,
            "proves": "works at most 46 % of the time (95 % sure)",
            "owner": "@ana",
            "detail": 'expected key "tone"; got {"mood": "fine"}',
            **changed,
        },
    )


def flaky(name: str = "test_json[de]", **changed) -> CaseRow:
    """A case that passes mostly."""
    return case(
        name,
        **{
            "passed": 20,
            "asked": 26,
            "state": "flaky-mostly-passing",
            "why": "none",
            "then": "hold",
            "row": "mostly-passing",
            "bound_low": 0.61,
            "bound_high": 0.91,
            "proves": "works between 61 % and 91 % of the time (each 95 % sure)",
            "owner": "@bo",
            "detail": "expected format json; got Here is the summary:",
            **changed,
        },
    )


def good(count: int = 11) -> tuple[CaseRow, ...]:
    """Cases that pass."""
    return tuple(case(f"test_good_{number:02}") for number in range(1, count + 1))


def member(**changed) -> Member:
    """The lane's only part in the current attempt, present."""
    return Member(
        **{
            "lane": "model-tests",
            "part": "all",
            "run_id": RUN,
            "run_attempt": 2,
            "standing": "present",
            "digest": digest("a"),
            **changed,
        }
    )


def lane(cases: tuple[CaseRow, ...], outcome: Outcome, code: str, **changed) -> LaneRow:
    """The lane of the suite."""
    return LaneRow(
        **{
            "lane": "model-tests",
            "kind": "sample-ledger",
            "role": "required",
            "seal": "unsigned",
            "outcome": outcome,
            "code": code,
            "owner": "@team-notes",
            "cases": cases,
            "members": (member(),),
            "calls": 74,
            "wall_ms": 26_000,
            "tokens": 48_120,
            "endpoint": "127.0.0.1:8080",
            "models_served": ("fake-1",),
            **changed,
        }
    )


def seen(**changed) -> SeenFile:
    """The lane's record, accepted."""
    return SeenFile(
        **{
            "container": "truegreen.model-tests.all.2.zip",
            "name": "model-tests.all.2.truegreen.json",
            "digest": digest("a"),
            "standing": "accepted",
            **changed,
        }
    )


NOTES = (Cause(code="topology-editable", word=None),)
EMBEDDED = {"policy": 'schema = "truegreen/policy/v1"\n', "versions": {"truegreen": "0.1.0"}}


def decision(word: Word, causes: tuple[Cause, ...], lanes: tuple[LaneRow, ...] = (), **changed) -> Decision:
    """A decision without its line."""
    exit_code = {Word.ADMIT: 0, Word.BLOCK: 1, Word.HOLD: 3}[word]
    return Decision(
        **{
            "schema": SCHEMA,
            "word": word,
            "exit_code": exit_code,
            "mode": "enforce",
            "line": "",
            "code": causes[0].code if causes else "all-lanes-hold",
            "only_lane": None,
            "topology": "editable",
            "about": about(),
            "causes": causes,
            "notes": NOTES,
            "lanes": lanes,
            "files": (seen(),),
            "embedded": EMBEDDED,
            "now": NOW,
            **changed,
        }
    )


CODES = {
    "never-passed": "case-broken",
    "mostly-passing": "case-flaky",
    "mostly-passing-quarantined": "case-quarantined",
    "spoiled": "case-invalid",
}
"""Row of the merge table to the reason code that it gives."""


def of_case(row: CaseRow, word: Word | None, **facts) -> Cause:
    """The cause that a case's row gives."""
    told = {
        "passed": row.passed,
        "asked": row.asked,
        "owner": row.owner or "",
        "proves": row.proves,
        "why": row.why,
        "detail": row.detail,
        "expires": row.excused_until or "",
        "endpoint": "127.0.0.1:8080",
        **facts,
    }
    return Cause(code=CODES[row.row], word=word, lane="model-tests", case=row.id, facts=told)


def of_lane(code: str, word: Word = Word.HOLD, **facts) -> Cause:
    """A cause of the lane as a whole."""
    return Cause(code=code, word=word, lane="model-tests", facts=facts)


def admit(**changed) -> Decision:
    """Twelve cases, all steady."""
    rows = good(12)
    return decision(Word.ADMIT, (), (lane(rows, Outcome.HOLDS, "holds"),), **changed)


def broken_case(**changed) -> Decision:
    """One case never passes, eleven do."""
    row = broken()
    lanes = (lane((row, *good()), Outcome.FAILS, "case-broken"),)
    return decision(Word.BLOCK, (of_case(row, Word.BLOCK),), lanes, **changed)


def several_defects() -> Decision:
    """Two cases are broken, one is flaky, one has no answer, and a test is gone."""
    one, two = broken(), broken("test_length", owner=None, detail="")
    shaky = flaky()
    cut = case(
        "test_cut",
        0,
        5,
        state="inconclusive",
        why="invalid",
        then="hold",
        row="spoiled",
        bound_low=0.0,
        bound_high=1.0,
        proves="may work always, never or anything between",
        buckets={"invalid": 5},
        detail="the answer was cut at its length limit",
    )
    causes = (
        of_case(one, Word.BLOCK),
        of_case(two, Word.BLOCK),
        of_lane("tests-removed", ids="tests/llm/test_notes.py::test_old", count=1),
        of_case(shaky, Word.HOLD),
        of_case(cut, Word.HOLD, reason="truncated"),
    )
    lanes = (lane((one, two, shaky, cut, *good(8)), Outcome.FAILS, "case-broken"),)
    return decision(Word.BLOCK, causes, lanes)


def flaky_case() -> Decision:
    """One case passes most of the time."""
    row = flaky()
    return decision(
        Word.HOLD, (of_case(row, Word.HOLD),), (lane((row, *good()), Outcome.UNKNOWN, "case-flaky"),)
    )


def flaky_and_excused() -> Decision:
    """The same case with a live quarantine entry on base."""
    row = flaky(then="merge", row="mostly-passing-quarantined", excused_until="2027-01-15")
    note = of_case(row, None)
    lanes = (lane((row, *good()), Outcome.HOLDS, "holds", calls=94, wall_ms=31_400),)
    return decision(Word.ADMIT, (), lanes, notes=(*NOTES, note))


def edited_ruler() -> Decision:
    """Tests changed without a new baseline."""
    cause = of_lane("ruler-changed", moved="tests/llm/test_notes.py, cases/de.yaml")
    return decision(Word.HOLD, (cause,), (lane(good(12), Outcome.UNKNOWN, cause.code),))


def outage() -> Decision:
    """The endpoint answered 429."""
    cause = of_lane("endpoint-outage", failed=31, calls=40, cases=12, endpoint="127.0.0.1:8080")
    return decision(
        Word.HOLD, (cause,), (lane((), Outcome.UNKNOWN, cause.code, calls=40, wall_ms=9_000, tokens=0),)
    )


def deleted_test() -> Decision:
    """Two tests of base are gone."""
    ids = "tests/llm/test_notes.py::test_old, tests/llm/test_notes.py::test_older"
    cause = of_lane("tests-removed", ids=ids, count=2)
    return decision(Word.HOLD, (cause,), (lane(good(10), Outcome.UNKNOWN, cause.code),))


def cancelled_run() -> Decision:
    """The lane's job was cancelled."""
    cause = of_lane("cancelled", part="all", run_id=RUN, run_attempt=2, attempt=2)
    missing = member(standing="missing", digest=None)
    row = lane(
        (), Outcome.UNKNOWN, cause.code, members=(missing,), calls=0, wall_ms=0, tokens=0, models_served=()
    )
    return decision(Word.HOLD, (cause,), (row,), files=())


def stale_evidence() -> Decision:
    """All evidence is about an older commit."""
    stale = seen(standing="stale", code="stale-head")
    facts = {"file": stale.name, "container": stale.container, "head_sha": "b" * 40, "asked": HEAD}
    cause = of_lane("stale-head", part="all", **facts)
    note = Cause(code="stale-head", word=None, lane="model-tests", facts=facts)
    row = lane((), Outcome.UNKNOWN, "stale-head", members=(member(standing="missing", digest=None),))
    return decision(Word.HOLD, (cause,), (row,), files=(stale,), notes=(note,))


def forged_tally() -> Decision:
    """A ledger claims other counts than its samples give."""
    refused = seen(standing="blocked", code="ledger-contradicts")
    facts = {
        "file": refused.name,
        "container": refused.container,
        "what": "passes of test_tone",
        "claimed": 5,
        "found": 0,
    }
    cause = of_lane("ledger-contradicts", Word.BLOCK, **facts)
    return decision(Word.BLOCK, (cause,), (lane((), Outcome.FAILS, cause.code),), files=(refused,))


def no_policy() -> Decision:
    """The base has no policy yet, nor has the default branch."""
    cause = Cause(code="no-policy-at-base", word=Word.HOLD, facts={"base_ref": "main"})
    return decision(Word.HOLD, (cause,), mode="observe", exit_code=0, files=(), notes=())


def observed_block() -> Decision:
    """A broken case where the base only observes."""
    return broken_case(mode="observe", exit_code=0)


def one_lane_fails() -> Decision:
    """The same, asked about one lane only."""
    return broken_case(only_lane="model-tests")


def working_copy() -> Decision:
    """An admit about a working copy."""
    notes = (*NOTES, Cause(code="local", word=None))
    return admit(about=about(repo="local", head_repo="local", pull_request=None, local=True), notes=notes)


HOSTILE = (
    "x\n::error file=a::pwn\r\n##[add-path]/tmp\x1b[2J\u202e`|<img src=x onerror=alert(1)>@ana [a](javascript:x) "
    "http://evil.example www.evil.example #12 </summary></details>``` --> $(reboot) 'q' \x00\u2028\ud800 &amp; **b**"
)
"""A text that tries every medium at once."""


def hostile_names() -> Decision:
    """Case id, detail, owner and file names that try to break out of every rendering."""
    row = broken(id=f"tests/llm/test_notes.py::test_a[{HOSTILE}]", detail=HOSTILE * 3, owner=HOSTILE)
    named = seen(container=HOSTILE, name=HOSTILE, standing="refused", code="unreadable")
    facts = {"file": HOSTILE, "container": HOSTILE, "problem": HOSTILE}
    causes = (of_case(row, Word.BLOCK), Cause(code="unreadable", word=Word.HOLD, facts=facts))
    lanes = (
        lane(
            (row, *good(2)),
            Outcome.FAILS,
            "case-broken",
            endpoint=HOSTILE,
            models_served=(HOSTILE,),
            owner=HOSTILE,
        ),
    )
    return decision(
        Word.BLOCK, causes, lanes, files=(named,), about=about(head_repo=HOSTILE, base_ref=HOSTILE)
    )


DEFECTS: dict[str, Callable[[], Decision]] = {
    "none": admit,
    "broken-case": broken_case,
    "several-defects": several_defects,
    "flaky-case": flaky_case,
    "flaky-and-excused": flaky_and_excused,
    "edited-ruler": edited_ruler,
    "outage": outage,
    "deleted-test": deleted_test,
    "cancelled-run": cancelled_run,
    "stale-evidence": stale_evidence,
    "forged-tally": forged_tally,
    "no-policy": no_policy,
    "observed-block": observed_block,
    "one-lane-fails": one_lane_fails,
    "working-copy": working_copy,
    "hostile-names": hostile_names,
}
"""One decision for each defect that people meet."""
