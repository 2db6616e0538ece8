# SPDX-License-Identifier: Apache-2.0
"""What the state of one case means for the merge: ``merge.toml`` and the facts that it is asked with.

What it decides: how a state becomes facts. What it leaves: the answer, to the table; whether an entry is live,
a ruler announced or an endpoint agreed on, to the gate.

- The table is data: rows in order, the first that applies decides, proved total and reachable when it is loaded.
- A case without a sample is ``not-sampled``, whatever else is known of it.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from truegreen.core.table import Row, Table, load_table
from truegreen.sampling.states import CaseState

FILE = Path(__file__).with_name("merge.toml")
AS_AGREED = "as-agreed"


@lru_cache(maxsize=1)
def merge_table() -> Table:
    """The merge table of this version."""
    return load_table(FILE.read_bytes(), name=FILE.name)


def row_for(  # noqa: PLR0913 - the table asks for these facts
    case: CaseState | None,
    *,
    blast_radius: str = "normal",
    is_quarantined: bool = False,
    is_ruler_changed: bool = False,
    endpoint: str = AS_AGREED,
    table: Table | None = None,
) -> Row:
    """The row that decides for one case; ``case`` is None if it was planned and never sampled.

    ``is_quarantined`` says that a live entry on the base names the case and that head did not drop it;
    ``endpoint`` is a value of the table's field of that name.

    Raises: UsageProblem ``table-unknown-value`` for a fact that the table does not know.
    """
    return (table or merge_table()).decide(
        state=case.state.value if case else "not-sampled",
        cause=(case.cause.value if case else "") or "none",
        blast_radius=blast_radius,
        quarantined=is_quarantined,
        ruler="changed" if is_ruler_changed else AS_AGREED,
        endpoint=endpoint,
    )
