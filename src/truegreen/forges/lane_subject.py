# SPDX-License-Identifier: Apache-2.0
"""The subject that a lane writes into its record: what it really has checked out, beside the event's facts.

What it decides: tested tree and base of a record. What it leaves: whether they are the right ones, to the gate,
which recomputes the tree.

- The tested tree is the tree of the working folder, not the one that the event hopes for.
- Checked out is the head itself, a merge of the head and another commit (then that other commit is the base), or
  something else (then the record would be about nothing that the gate knows: an error).
- On a push the base is the pushed commit, on a merge group the one that the group is built on.
"""

from __future__ import annotations

from truegreen.core.errors import UsageProblem
from truegreen.core.event import EventFacts
from truegreen.core.ports import GitPort
from truegreen.core.subject import CommitId, Subject, TreeId
from truegreen.forges.working_copy import WorkingCopy

_PARENTS_OF_A_MERGE = 2


def lane_subject(facts: EventFacts, copy: WorkingCopy, git: GitPort) -> Subject:
    """The subject of a lane's record.

    Raises: UsageProblem ``other-checkout`` if the folder holds neither the head nor a merge of it; ReachProblem
    ``missing-object`` if the clone lacks the head commit.
    """
    return Subject(
        repo=facts.repo,
        head_repo=facts.head_repo,
        pull_request=facts.pull_request,
        head_sha=CommitId(facts.head_sha),
        base_ref=facts.base_ref,
        base_sha=CommitId(_tested_base(facts, copy, git)),
        head_tree=TreeId(git.tree_of(facts.head_sha)),
        tested_tree=copy.tree,
        run_id=facts.run_id,
        run_attempt=facts.run_attempt,
        workflow=facts.workflow,
        event=facts.event,
        dirty=copy.dirty,
    )


def _tested_base(facts: EventFacts, copy: WorkingCopy, git: GitPort) -> str:
    if copy.head_sha == facts.head_sha:
        return facts.group_base or facts.base_sha
    parents = git.parents(copy.head_sha)
    if facts.event == "pull_request" and len(parents) == _PARENTS_OF_A_MERGE and facts.head_sha in parents:
        return parents[0] if parents[1] == facts.head_sha else parents[1]
    raise UsageProblem(
        "other-checkout",
        f"{copy.head_sha} is checked out, which is neither {facts.head_sha} nor a merge of it",
        hint="check out the event's own commit, with fetch-depth: 0",
    )
