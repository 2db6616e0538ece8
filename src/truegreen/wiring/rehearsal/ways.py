# SPDX-License-Identifier: Apache-2.0
"""Ways to fool the gate, one row each: what is tried, and what the gate must answer.

What it decides: the rows. What it leaves: the inputs, to ``tricks``, ``chains``, ``heads`` and ``events``; trying them through the real gate, to
``run``.

- Every row starts from a stage that the gate admits, so that nothing but the row's own defences stands in its
  way; ``defences`` names the checks that a test switches off to see the row turn green.
- Under a policy that allows what a row tries there is nothing to fool: the row is left out.
- A row's answer is a word and a code: being stopped by something else is not being stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import msgspec

from truegreen.core.outcome import Word
from truegreen.wiring.rehearsal import chains, events, heads
from truegreen.wiring.rehearsal import stage as on
from truegreen.wiring.rehearsal import tricks as try_
from truegreen.wiring.rehearsal.honest import Actors
from truegreen.wiring.rehearsal.setting import Setting


def _always(setting: Setting) -> bool:
    del setting
    return True


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
    told: str = ""
    """What the gate says of the trick's own file, where it says anything."""
    needs: Callable[[Setting], bool] = _always
    """Whether the policy leaves the row something to fool: what a policy allows is no trick."""


HOLD, BLOCK = Word.HOLD, Word.BLOCK


def _reads_other_runs(setting: Setting) -> bool:
    return setting.lead.lane.runs == "same-tree"


def _believes_old_bases(setting: Setting) -> bool:
    return _allows_no_removal(setting) and setting.lead.lane.base == "ancestor"


def _allows_no_removal(setting: Setting) -> bool:
    return setting.lead.lane.allow_removed == 0


def _claim(**changes: object) -> Callable[[Actors], on.Stage]:
    return lambda actors: try_.subject(actors, **changes)


WAYS: tuple[Way, ...] = (
    Way(
        id="no-evidence",
        words="the lane ran and left nothing",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds"),
        trick=try_.without_evidence,
    ),
    Way(
        id="cancelled-run",
        words="the run was cancelled before it wrote anything",
        word=HOLD,
        code="cancelled",
        defences=("newest_left_its_record", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(actors, try_.one_job(actors, conclusion="cancelled")),
    ),
    Way(
        id="skipped-job",
        words="an `if:` skips the lane's job, which the forge counts as passing",
        word=HOLD,
        code="skipped-job",
        defences=("something_started", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(
            actors, try_.one_job(actors, conclusion="skipped", started_at=None)
        ),
    ),
    Way(
        id="job-never-existed",
        words="the lane's job is gone from the workflow",
        word=HOLD,
        code="never-started",
        defences=("something_started", "unknown_holds"),
        trick=try_.renamed_job,
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
        id="waiting-to-run",
        words="the lane's job is about to run and nobody waits for it",
        word=HOLD,
        code="still-running",
        defences=("something_started", "unknown_holds"),
        trick=lambda actors: try_.without_evidence(
            actors, try_.one_job(actors, status="queued", conclusion=None, started_at=None)
        ),
    ),
    Way(
        id="still-running",
        words="a newer attempt is still running and may yet fail",
        word=HOLD,
        code="still-running",
        defences=("attempts_have_ended",),
        trick=lambda actors: try_.one_job(actors, status="in_progress", conclusion=None),
    ),
    Way(
        id="no-run-index",
        words="nobody says which attempts there were",
        word=HOLD,
        code="attempts-unknown",
        defences=("index_is_complete", "run_known", "something_started", "unknown_holds"),
        told="run-not-in-index",
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
        id="other-index",
        words="the list of attempts was fetched for another commit",
        word=HOLD,
        code="index-other-head",
        defences=("index_is_complete",),
        trick=lambda actors: try_.index(
            actors, lambda index: msgspec.structs.replace(index, head_sha="4" * 40)
        ),
    ),
    Way(
        id="pushed-too",
        words="the lane ran on a push of the same commit as well, and nobody speaks of that",
        word=HOLD,
        code="event-mismatch",
        defences=("one_event_measured", "every_attempt_is_named"),
        needs=_reads_other_runs,
        trick=try_.pushed_too,
    ),
    Way(
        id="pushed-instead",
        words="the lane ran on a push alone, and its record claims to be the pull request's",
        word=HOLD,
        code="event-mismatch",
        defences=("one_event_measured", "own_event"),
        told="event-mismatch",
        needs=_reads_other_runs,
        trick=try_.pushed_instead,
    ),
    Way(
        id="foreign-repository",
        words="evidence of another repository",
        word=BLOCK,
        code="foreign-repo",
        defences=("own_repository",),
        told="foreign-repo",
        trick=_claim(repo="example/elsewhere"),
    ),
    Way(
        id="unlisted-workflow",
        words="an advisory workflow uploads an artifact of the lane's name",
        word=BLOCK,
        code="foreign-workflow",
        defences=("listed_workflow", "agrees_with_run"),
        told="foreign-workflow",
        trick=_claim(workflow=".github/workflows/advice.yml"),
    ),
    Way(
        id="working-copy",
        words="evidence from somebody's machine",
        word=HOLD,
        code="local-record",
        defences=("not_local", "agrees_with_run", "own_event"),
        told="local-record",
        trick=_claim(event="local"),
    ),
    Way(
        id="dirty-tree",
        words="evidence of changes that no commit holds",
        word=HOLD,
        code="dirty-tree",
        defences=("not_dirty",),
        told="dirty-tree",
        trick=_claim(dirty=True),
    ),
    Way(
        id="other-fork",
        words="evidence of a head in another fork",
        word=BLOCK,
        code="foreign-head-repo",
        defences=("own_head_repository", "agrees_with_run"),
        told="foreign-head-repo",
        trick=_claim(head_repo="example/fork"),
    ),
    Way(
        id="other-pull-request",
        words="evidence of another pull request with the same commit",
        word=HOLD,
        code="stale-pull-request",
        defences=("own_pull_request",),
        told="stale-pull-request",
        trick=_claim(pull_request=8),
    ),
    Way(
        id="older-head",
        words="honest evidence of the commit before, out of a run that the forge does not list",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds", "own_head", "run_known"),
        told="stale-head",
        trick=lambda actors: heads.older_head(actors, run_id=4711),
    ),
    Way(
        id="older-head-relabelled",
        words="honest evidence of the commit before, under the number of this run",
        word=BLOCK,
        code="contradicts-run",
        defences=("agrees_with_run", "own_head"),
        told="contradicts-run",
        trick=heads.older_head,
    ),
    Way(
        id="other-base-branch",
        words="evidence that was made against another branch",
        word=HOLD,
        code="stale-base-ref",
        defences=("own_base_ref",),
        told="stale-base-ref",
        trick=_claim(base_ref="weak"),
    ),
    Way(
        id="unknown-run",
        words="a run that the forge does not list",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds", "run_known"),
        told="run-not-in-index",
        trick=_claim(run_id=4711),
    ),
    Way(
        id="contradicted-run",
        words="an attempt that the forge lists otherwise",
        word=BLOCK,
        code="contradicts-run",
        defences=("agrees_with_run", "own_event"),
        told="contradicts-run",
        trick=_claim(event="push"),
    ),
    Way(
        id="base-off-branch",
        words="a base commit that is not on the base branch",
        word=HOLD,
        code="base-not-ancestor",
        defences=("base_on_branch",),
        told="base-not-ancestor",
        trick=heads.base_off_branch,
    ),
    Way(
        id="other-tree",
        words="the base's tree was tested in place of the merge",
        word=HOLD,
        code="tree-mismatch",
        defences=("tree_recomputed",),
        told="tree-mismatch",
        trick=heads.base_tested,
    ),
    Way(
        id="other-policy",
        words="evidence that was made under a weaker policy",
        word=HOLD,
        code="stale-policy",
        defences=("own_policy",),
        told="stale-policy",
        trick=lambda actors: try_.with_body(actors, policy_digest="sha256:" + "0" * 64),
    ),
    Way(
        id="forged-ruler",
        words="the digest of what judges is made up",
        word=BLOCK,
        code="ruler-mismatch",
        defences=("ruler_recomputed",),
        told="ruler-mismatch",
        trick=lambda actors: try_.forged(actors, "ruler"),
    ),
    Way(
        id="forged-subject",
        words="the digest of what is judged is made up",
        word=BLOCK,
        code="subject-mismatch",
        defences=("subject_recomputed",),
        told="subject-mismatch",
        trick=lambda actors: try_.forged(actors, "subject"),
    ),
    Way(
        id="from-the-future",
        words="a record that says it was written tomorrow",
        word=HOLD,
        code="from-the-future",
        defences=("not_from_the_future",),
        told="from-the-future",
        trick=lambda actors: try_.envelope(actors, issued_at="2026-01-02T12:00:00Z"),
    ),
    Way(
        id="before-its-job",
        words="a record that says it was written before its job began",
        word=HOLD,
        code="before-its-job",
        defences=("not_before_its_job",),
        told="before-its-job",
        trick=lambda actors: try_.envelope(actors, issued_at=on.EARLIER_AT),
    ),
    Way(
        id="unknown-part",
        words="a record of a part that the lane does not have",
        word=HOLD,
        code="missing-record",
        defences=("newest_left_its_record", "unknown_holds"),
        told="unknown-part",
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
        told="duplicate-key",
        trick=try_.two_keys,
    ),
    Way(
        id="truncated",
        words="a ledger that was cut in the middle",
        word=HOLD,
        code="unreadable",
        defences=("strict_reader",),
        told="unreadable",
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
        told="ledger-contradicts",
        trick=lambda actors: try_.every_case(actors, actors.cast.failing(), "stable-pass"),
    ),
    Way(
        id="components-made-up",
        words="a ruler whose parts are not those that its digest is made of",
        word=BLOCK,
        code="ruler-mismatch",
        defences=("ruler_recomputed",),
        told="ruler-mismatch",
        trick=try_.made_up_components,
    ),
    Way(
        id="calls-made-up",
        words="a count of calls that the observer did not see",
        word=BLOCK,
        code="calls-contradict",
        defences=("kind_arithmetic",),
        told="calls-contradict",
        trick=try_.calls,
    ),
    Way(
        id="broken-case",
        words="a case that fails every time",
        word=BLOCK,
        code="case-broken",
        defences=("recount",),
        trick=lambda actors: try_.every_case(actors, actors.cast.failing()),
    ),
    Way(
        id="once-is-enough",
        words="one pass too few, as an exit code would have it",
        word=HOLD,
        code="interrupted",
        defences=("recount",),
        needs=lambda setting: len(setting.lead.passing()) > 1,
        trick=lambda actors: try_.every_case(actors, actors.cast.passing()[:-1]),
    ),
    Way(
        id="rerun-until-green",
        words="attempt 1 failed, attempt 2 passes and says nothing about it",
        word=HOLD,
        code="attempt-unaccounted",
        defences=("every_attempt_is_named",),
        trick=chains.rerun,
    ),
    Way(
        id="passed-over",
        words="attempt 1 failed and its ledger is there; attempt 2 passes and does not mention it",
        word=BLOCK,
        code="older-attempt-failed",
        defences=("no_older_failure", "every_attempt_is_named"),
        trick=chains.passed_over,
    ),
    Way(
        id="left-nothing",
        words="attempt 2 says that attempt 1 left nothing, though it uploaded an artifact",
        word=HOLD,
        code="earlier-not-read",
        defences=("left_none_left_none",),
        trick=chains.left_nothing,
    ),
    Way(
        id="rewritten-history",
        words="attempt 2 embeds passes where attempt 1 recorded failures",
        word=BLOCK,
        code="earlier-differs",
        defences=("embedded_is_what_was_said",),
        trick=chains.rewritten_chain,
    ),
    Way(
        id="another-key",
        words="attempt 2 says that attempt 1 judged something else",
        word=BLOCK,
        code="chain-contradicts",
        defences=("other_key_is_another_key",),
        trick=chains.other_key,
    ),
    Way(
        id="invented-attempt",
        words="passes of an attempt that the forge does not list",
        word=BLOCK,
        code="chain-contradicts",
        defences=("links_lead_somewhere",),
        trick=chains.invented_attempt,
    ),
    Way(
        id="borrowed-passes",
        words="passes of an earlier push that had other code",
        word=BLOCK,
        code="chain-contradicts",
        defences=("links_lead_somewhere",),
        needs=_reads_other_runs,
        trick=chains.borrowed_passes,
    ),
    Way(
        id="empty-commit",
        words="an empty commit to shake off a failed result",
        word=HOLD,
        code="attempt-unaccounted",
        defences=("every_attempt_is_named",),
        needs=_reads_other_runs,
        trick=chains.empty_commit,
    ),
    Way(
        id="fewer-cases",
        words="a case of the base is not asked any more",
        word=HOLD,
        code="tests-removed",
        defences=("nothing_was_removed",),
        needs=_allows_no_removal,
        trick=try_.fewer_cases,
    ),
    Way(
        id="golden-case",
        words="a case of the base that fails is said to be for people only",
        word=HOLD,
        code="tests-removed",
        defences=("nothing_was_removed",),
        needs=_allows_no_removal,
        trick=try_.golden_case,
    ),
    Way(
        id="old-base",
        words="a case is deleted, and the record names a base from before there were any",
        word=HOLD,
        code="tests-removed",
        defences=("nothing_was_removed", "baseline_starts_from_base"),
        needs=_believes_old_bases,
        trick=heads.old_base,
    ),
    Way(
        id="more-cases",
        words="a case that nobody announced makes the suite look larger",
        word=HOLD,
        code="tests-unannounced",
        defences=("ids_are_announced",),
        trick=try_.more_cases,
    ),
    Way(
        id="skipped-case",
        words="a case of the base answers with a skip",
        word=HOLD,
        code="tests-turned-skip",
        defences=("nothing_turned_into_a_skip", "recount"),
        needs=_allows_no_removal,
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
        trick=heads.no_baseline,
    ),
    Way(
        id="edited-ruler",
        words="a case is edited and nobody announces it",
        word=HOLD,
        code="ruler-changed",
        defences=("ruler_is_agreed",),
        trick=heads.edited_ruler,
    ),
    Way(
        id="baseline-of-nowhere",
        words="a new baseline that does not say what it replaces",
        word=HOLD,
        code="baseline-mismatch",
        defences=("baseline_starts_from_base",),
        trick=heads.baseline_of_nowhere,
    ),
    Way(
        id="harness-and-code",
        words="the workflow that gates is edited together with code",
        word=HOLD,
        code="harness-and-code",
        defences=("harness_changes_alone",),
        trick=heads.harness_beside_code,
    ),
    Way(
        id="unreadable-new-policy",
        words="the change breaks the policy, so that no later change could be decided on",
        word=HOLD,
        code="new-policy-unreadable",
        defences=("new_policy_can_be_read",),
        trick=heads.unreadable_new_policy,
    ),
    Way(
        id="unlisted-base",
        words="the pull request is retargeted to a branch that nobody guards",
        word=BLOCK,
        code="base-not-gated",
        defences=("branch_is_listed",),
        trick=heads.unlisted_base,
    ),
    Way(
        id="expired-quarantine",
        words="a quarantine entry outlived its date",
        word=HOLD,
        code="quarantine-expired",
        defences=("quarantine_is_in_order",),
        needs=lambda setting: setting.policy.max_quarantined > 0,
        trick=heads.expired_quarantine,
    ),
    Way(
        id="no-policy-at-base",
        words="the policy is deleted from the branch",
        word=HOLD,
        code="no-policy-at-base",
        defences=("base_has_a_policy",),
        trick=events.no_policy_at_base,
    ),
    Way(
        id="no-policy-at-default",
        words="the default branch says nothing of which branches are guarded",
        word=HOLD,
        code="no-policy-at-default",
        defences=("base_has_a_policy",),
        trick=events.no_policy_at_default,
    ),
    Way(
        id="policy-of-the-folder",
        words="the gate is told to decide by the policy in the working folder",
        word=HOLD,
        code="policy-in-worktree",
        defences=("base_has_a_policy",),
        trick=events.policy_in_worktree,
    ),
    Way(
        id="decided-at-home",
        words="a decision about a working copy is passed off as CI's",
        word=HOLD,
        code="local-in-ci",
        defences=("working_copy_stays_home",),
        trick=lambda actors: events.at_home(actors).stage,
    ),
    Way(
        id="queue-other-tree",
        words="evidence of the pull request alone, for a queue where another one is ahead",
        word=HOLD,
        code="tree-mismatch",
        defences=("tree_of_the_group",),
        told="tree-mismatch",
        needs=lambda setting: (
            _reads_other_runs(setting)
            and (setting.lead.lane.tree, setting.lead.lane.base) == ("merge", "ancestor")
        ),
        trick=events.queued_behind,
    ),
    Way(
        id="queue-other-base",
        words="a group's evidence against a base before the group's own",
        word=HOLD,
        code="base-not-ancestor",
        defences=("base_on_branch",),
        told="base-not-ancestor",
        trick=events.queued_on_older_base,
    ),
    Way(
        id="queue-harness-and-code",
        words="a queued commit edits the workflow that gates together with code",
        word=HOLD,
        code="harness-and-code",
        defences=("harness_changes_alone",),
        trick=events.queued_harness,
    ),
)
"""Every row, in the order in which they are shown."""
