# SPDX-License-Identifier: Apache-2.0
"""Ways to fool the gate, one row each: what is tried, and what the gate must answer.

What it decides: the rows. What it leaves: the inputs, to ``tricks``; trying them through the real gate, to
``run``.

- Every row starts from a stage that the gate admits, so that nothing but the row's own defences stands in its
  way; ``defences`` names the checks that a test switches off to see the row turn green.
- A row's answer is a word and a code: being stopped by something else is not being stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from truegreen.core.outcome import Word
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal import tricks as try_
from truegreen.wiring.rehearsal.honest import Actors


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way to fool the gate."""

    id: str
    """Kebab-case name."""
    words: str
    """What is tried, for people."""
    word: Word
    """The answer that is asked for."""
    code: str
    """The reason code that is asked for."""
    defences: tuple[str, ...]
    """Names of the checks in its way, the one that answers first."""
    trick: Callable[[Actors], on.Stage]
    """The stage with the trick in place."""


HOLD, BLOCK = Word.HOLD, Word.BLOCK


def _claim(**changes: object) -> Callable[[Actors], on.Stage]:
    return lambda actors: try_.subject(actors, **changes)


WAYS: tuple[Way, ...] = (
    Way(
        id="no-evidence",
        words="the lane ran and left nothing",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(actors.stage),
    ),
    Way(
        id="cancelled-run",
        words="the run was cancelled before it wrote anything",
        word=HOLD,
        code="cancelled",
        defences=("newest_left_its_record", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(try_.one_job(actors, conclusion="cancelled")),
    ),
    Way(
        id="skipped-job",
        words="an `if:` skips the lane's job, which the forge counts as passing",
        word=HOLD,
        code="skipped-job",
        defences=("something_started", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(
            try_.one_job(actors, conclusion="skipped", started_at=None)
        ),
    ),
    Way(
        id="job-never-existed",
        words="the lane's job is gone from the workflow",
        word=HOLD,
        code="never-started",
        defences=("something_started", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(try_.one_job(actors, name="something-else")),
    ),
    Way(
        id="two-jobs-one-name",
        words="a second job takes the lane's name",
        word=BLOCK,
        code="two-jobs-one-name",
        defences=("jobs_are_unambiguous", "something_started", "unknown_holds"),
        trick=try_.second_job,
    ),
    Way(
        id="still-running",
        words="a newer attempt is still running and may yet fail",
        word=HOLD,
        code="still-running",
        defences=("newest_has_ended",),
        trick=try_.behind,
    ),
    Way(
        id="no-run-index",
        words="nobody says which attempts there were",
        word=HOLD,
        code="attempts-unknown",
        defences=("index_is_complete", "run_known", "something_started", "unknown_holds"),
        trick=lambda actors: replace(actors.stage, index=None),
    ),
    Way(
        id="short-run-index",
        words="the list of attempts lost a page",
        word=HOLD,
        code="attempts-unknown",
        defences=("index_is_complete",),
        trick=lambda actors: try_.index(actors, lambda index: msgspec.structs.replace(index, complete=False)),
    ),
    Way(
        id="foreign-repository",
        words="evidence of another repository",
        word=BLOCK,
        code="foreign-repo",
        defences=("own_repository",),
        trick=_claim(repo="example/elsewhere"),
    ),
    Way(
        id="unlisted-workflow",
        words="an advisory workflow uploads an artifact of the lane's name",
        word=BLOCK,
        code="foreign-workflow",
        defences=("listed_workflow", "agrees_with_run"),
        trick=_claim(workflow=".github/workflows/advice.yml"),
    ),
    Way(
        id="working-copy",
        words="evidence from somebody's machine",
        word=HOLD,
        code="local-record",
        defences=("not_local", "agrees_with_run"),
        trick=_claim(event="local"),
    ),
    Way(
        id="dirty-tree",
        words="evidence of changes that no commit holds",
        word=HOLD,
        code="dirty-tree",
        defences=("not_dirty",),
        trick=_claim(dirty=True),
    ),
    Way(
        id="other-fork",
        words="evidence of a head in another fork",
        word=BLOCK,
        code="foreign-head-repo",
        defences=("own_head_repository", "agrees_with_run"),
        trick=_claim(head_repo="example/fork"),
    ),
    Way(
        id="other-pull-request",
        words="evidence of another pull request with the same commit",
        word=HOLD,
        code="stale-pull-request",
        defences=("own_pull_request",),
        trick=_claim(pull_request=8),
    ),
    Way(
        id="older-head",
        words="honest evidence of the commit before",
        word=HOLD,
        code="stale-head",
        defences=("own_head", "agrees_with_run"),
        trick=try_.older_head,
    ),
    Way(
        id="other-base-branch",
        words="evidence that was made against another branch",
        word=HOLD,
        code="stale-base-ref",
        defences=("own_base_ref",),
        trick=_claim(base_ref="weak"),
    ),
    Way(
        id="unknown-run",
        words="a run that the forge does not list",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds", "run_known"),
        trick=_claim(run_id=4711),
    ),
    Way(
        id="contradicted-run",
        words="an attempt that the forge lists otherwise",
        word=BLOCK,
        code="contradicts-run",
        defences=("agrees_with_run",),
        trick=_claim(event="push"),
    ),
    Way(
        id="base-off-branch",
        words="a base commit that is not on the base branch",
        word=HOLD,
        code="base-not-ancestor",
        defences=("base_on_branch",),
        trick=try_.base_off_branch,
    ),
    Way(
        id="other-tree",
        words="the base's tree was tested in place of the merge",
        word=HOLD,
        code="tree-mismatch",
        defences=("tree_recomputed",),
        trick=try_.base_tested,
    ),
    Way(
        id="other-policy",
        words="evidence that was made under a weaker policy",
        word=HOLD,
        code="stale-policy",
        defences=("own_policy",),
        trick=lambda actors: try_.with_body(actors, policy_digest="sha256:" + "0" * 64),
    ),
    Way(
        id="forged-ruler",
        words="the digest of what judges is made up",
        word=BLOCK,
        code="ruler-mismatch",
        defences=("ruler_recomputed",),
        trick=try_.forged_ruler,
    ),
    Way(
        id="forged-subject",
        words="the digest of what is judged is made up",
        word=BLOCK,
        code="subject-mismatch",
        defences=("subject_recomputed",),
        trick=try_.forged_subject,
    ),
    Way(
        id="from-the-future",
        words="a record that says it was written tomorrow",
        word=HOLD,
        code="from-the-future",
        defences=("not_from_the_future",),
        trick=lambda actors: try_.envelope(actors, issued_at="2026-01-02T12:00:00Z"),
    ),
    Way(
        id="unknown-part",
        words="a record of a part that the lane does not have",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds"),
        trick=lambda actors: try_.envelope(actors, part="extra"),
    ),
    Way(
        id="two-ledgers",
        words="two different ledgers for one attempt",
        word=BLOCK,
        code="two-records",
        defences=("one_record_each",),
        trick=try_.twice,
    ),
    Way(
        id="duplicate-key",
        words="a key that stands twice, so that two readers see two ledgers",
        word=BLOCK,
        code="duplicate-key",
        defences=("strict_reader",),
        trick=try_.two_keys,
    ),
    Way(
        id="truncated",
        words="a ledger that was cut in the middle",
        word=HOLD,
        code="unreadable",
        defences=("strict_reader",),
        trick=try_.truncated,
    ),
    Way(
        id="flat-ledger",
        words="a flat file that is bound to nothing, in place of the record",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds"),
        trick=try_.flat_ledger,
    ),
    Way(
        id="zip-slip",
        words="an archive whose member climbs out of its folder",
        word=HOLD,
        code="archive-refused",
        defences=("strict_archives",),
        trick=try_.zip_slip,
    ),
    Way(
        id="claimed-pass",
        words="failing samples under a state that says pass",
        word=BLOCK,
        code="ledger-contradicts",
        defences=("kind_arithmetic", "recount"),
        trick=try_.claimed,
    ),
    Way(
        id="calls-made-up",
        words="a count of calls that the observer did not see",
        word=BLOCK,
        code="calls-contradict",
        defences=("kind_arithmetic",),
        trick=try_.calls,
    ),
    Way(
        id="broken-case",
        words="a case that fails every time",
        word=BLOCK,
        code="case-broken",
        defences=("recount",),
        trick=lambda actors: try_.every_case(actors, "ffff", "never-passed"),
    ),
    Way(
        id="once-is-enough",
        words="one pass of one sample, as an exit code would have it",
        word=HOLD,
        code="interrupted",
        defences=("recount",),
        trick=lambda actors: try_.every_case(actors, "p", "inconclusive"),
    ),
    Way(
        id="rerun-until-green",
        words="attempt 1 failed, attempt 2 passes and says nothing about it",
        word=HOLD,
        code="attempt-unaccounted",
        defences=("every_attempt_is_named",),
        trick=lambda actors: try_.second_attempt(actors, ()),
    ),
    Way(
        id="left-nothing",
        words="attempt 2 says that attempt 1 left nothing, though it uploaded an artifact",
        word=HOLD,
        code="left-no-record",
        defences=("left_none_left_none",),
        trick=lambda actors: try_.second_attempt(
            actors, (try_.link(actors, "left-none"),), "p" * on.PASSES_LATER
        ),
    ),
    Way(
        id="rewritten-history",
        words="attempt 2 embeds passes where attempt 1 recorded failures",
        word=BLOCK,
        code="earlier-differs",
        defences=("embedded_is_what_was_said",),
        trick=try_.rewritten_chain,
    ),
    Way(
        id="another-key",
        words="attempt 2 says that attempt 1 judged something else",
        word=BLOCK,
        code="chain-contradicts",
        defences=("other_key_is_another_key",),
        trick=try_.other_key,
    ),
    Way(
        id="invented-attempt",
        words="passes of an attempt that the forge does not list",
        word=BLOCK,
        code="chain-contradicts",
        defences=("links_lead_somewhere",),
        trick=try_.invented_attempt,
    ),
    Way(
        id="empty-commit",
        words="an empty commit to shake off a failed result",
        word=HOLD,
        code="attempt-unaccounted",
        defences=("every_attempt_is_named",),
        trick=try_.empty_commit,
    ),
    Way(
        id="fewer-cases",
        words="a case of the base is not asked any more",
        word=HOLD,
        code="tests-removed",
        defences=("nothing_was_removed",),
        trick=try_.fewer_cases,
    ),
    Way(
        id="skipped-case",
        words="a case of the base answers with a skip",
        word=HOLD,
        code="tests-turned-skip",
        defences=("nothing_turned_into_a_skip", "recount"),
        trick=try_.skipped_case,
    ),
    Way(
        id="no-cases",
        words="a lane without a single case",
        word=HOLD,
        code="nothing-sampled",
        defences=("something_was_planned", "nothing_was_removed"),
        trick=lambda actors: try_.rows(actors, ()),
    ),
    Way(
        id="no-baseline",
        words="the committed baseline is deleted",
        word=HOLD,
        code="no-baseline",
        defences=("baseline_is_there",),
        trick=try_.no_baseline,
    ),
    Way(
        id="edited-ruler",
        words="a case is edited and nobody announces it",
        word=HOLD,
        code="ruler-changed",
        defences=("ruler_is_agreed",),
        trick=try_.edited_ruler,
    ),
    Way(
        id="baseline-of-nowhere",
        words="a new baseline that does not say what it replaces",
        word=HOLD,
        code="baseline-mismatch",
        defences=("baseline_starts_from_base",),
        trick=try_.baseline_of_nowhere,
    ),
    Way(
        id="harness-and-code",
        words="the workflow that gates is edited together with code",
        word=HOLD,
        code="harness-and-code",
        defences=("harness_changes_alone",),
        trick=try_.harness_beside_code,
    ),
    Way(
        id="unlisted-base",
        words="the pull request is retargeted to a branch that nobody guards",
        word=BLOCK,
        code="base-not-gated",
        defences=("branch_is_listed",),
        trick=try_.unlisted_base,
    ),
    Way(
        id="expired-quarantine",
        words="a quarantine entry outlived its date",
        word=HOLD,
        code="quarantine-expired",
        defences=("quarantine_is_in_order",),
        trick=try_.expired_quarantine,
    ),
)
"""Every row, in the order in which they are shown."""
