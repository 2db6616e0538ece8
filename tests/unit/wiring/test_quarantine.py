# SPDX-License-Identifier: Apache-2.0
"""Files, limits and clock of ``truegreen quarantine``."""

import msgspec
import pytest

from truegreen.core.baseline import LaneBaseline
from truegreen.core.digest import Sha256
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.wiring import atomic
from truegreen.wiring.quarantine import Import, check, import_flakes, limits_of
from truegreen.wiring.rehearsal.records import baseline_text

HEAD = 'schema = "truegreen/quarantine/v1"\n'
POLICY = 'schema = "truegreen/policy/v1"\n{}[lanes.l]\ntests = "x"\n'
LIST = "- id: a::b\n  first_seen: 2026-11-01\n  expires: 2026-12-01\n  owner: x\n  reason: slow\n"
EMPTY_LANE = LaneBaseline(
    ruler=Sha256("sha256:" + "1" * 64),
    components={},
    case_ids=(),
    inputs=(),
    prompts=(),
    endpoint=None,
    models_served=(),
    previous=None,
    reason="first cases",
)


class At:
    """A clock that stands."""

    def __init__(self, text):
        self.text = text

    def now(self):
        """The time."""
        return self.text


NOW = At("2026-11-15T00:00:00Z")


def _import(folder, *, is_written, clock=NOW):
    (folder / "flakes.yaml").write_text(LIST, encoding="utf-8")
    asked = Import(
        repository=folder, file=folder / "flakes.yaml", lane="l", ticket="#1", is_written=is_written
    )
    return import_flakes(asked, clock)


def test_an_import_writes_only_when_it_is_asked(tmp_path):
    """Then the file is what was made."""
    target = tmp_path / "truegreen.quarantine.toml"
    made = _import(tmp_path, is_written=False)
    assert (1, False) == (len(made.added), target.exists())
    _import(tmp_path, is_written=True)
    assert made.text == target.read_text(encoding="utf-8")


def test_a_second_import_leaves_the_file_alone(tmp_path):
    """Not even its time changes."""
    _import(tmp_path, is_written=True)
    target = tmp_path / "truegreen.quarantine.toml"
    before = target.stat()
    assert 0 == len(_import(tmp_path, is_written=True).added)
    assert (before.st_mtime_ns, before.st_ino) == (target.stat().st_mtime_ns, target.stat().st_ino)


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    """Old or new, never half."""
    target = tmp_path / "truegreen.quarantine.toml"
    target.write_text(HEAD, encoding="utf-8")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic, "_write_all", full)
    with pytest.raises(ReachProblem, match="disk-full"):
        _import(tmp_path, is_written=True)
    assert HEAD == target.read_text(encoding="utf-8")


def test_the_limits_are_those_of_the_policy_beside_it(tmp_path):
    """Or the defaults."""
    defaults = limits_of(tmp_path)
    assert (10, 30) == (defaults.max_quarantined, defaults.max_quarantine_days)
    policy = POLICY.format("max_quarantined = 2\nmax_quarantine_days = 7\n")
    (tmp_path / "truegreen.toml").write_text(policy, encoding="utf-8")
    found = limits_of(tmp_path)
    assert (2, 7) == (found.max_quarantined, found.max_quarantine_days)


def test_a_policy_that_is_wrong_gives_no_limits(tmp_path):
    """Nothing is guessed beside it."""
    (tmp_path / "truegreen.toml").write_text("x", encoding="utf-8")
    with pytest.raises(UsageProblem, match="bad-toml"):
        limits_of(tmp_path)


@pytest.mark.parametrize(("now", "holds"), [("2026-11-30T23:59:59Z", False), ("2026-12-01T00:00:00Z", True)])
def test_a_check_asks_the_clock(tmp_path, now, holds):
    """The instant of expiry is expired."""
    _import(tmp_path, is_written=True)
    assert holds == check(tmp_path, None, At(now)).overview.holds


def test_a_file_that_cannot_be_read_has_problems_and_no_overview(tmp_path):
    """All of them."""
    path = tmp_path / "q.toml"
    path.write_text(HEAD + "x = 1\n[[entry]]\n", encoding="utf-8")
    found = check(tmp_path, path)
    assert (8, None) == (len(found.problems), found.overview)


def test_without_a_file_there_is_nothing_to_check(tmp_path):
    """Exit 2: the name may be misspelt."""
    with pytest.raises(UsageProblem, match="no-quarantine"):
        check(tmp_path, None)


@pytest.mark.parametrize(
    ("ids", "standing"), [(None, "live"), (["a::b"], "live"), (["a::c"], "no case"), ([], "no case")]
)
def test_an_entry_without_its_case_is_told_where_cases_are_agreed_on(tmp_path, ids, standing):
    """By the whole id, in its own lane."""
    _import(tmp_path, is_written=True)
    if ids is not None:
        lane = msgspec.structs.replace(EMPTY_LANE, case_ids=tuple(ids))
        (tmp_path / "truegreen.baseline.json").write_bytes(baseline_text({"l": lane}))
    assert [standing] == [row.standing for row in check(tmp_path, None, NOW).overview.rows]


def test_a_baseline_that_cannot_be_read_is_not_taken_for_none(tmp_path):
    """Exit 3, and no entry stands as anything."""
    _import(tmp_path, is_written=True)
    (tmp_path / "truegreen.baseline.json").write_bytes(b"{")
    with pytest.raises(EvidenceProblem):
        check(tmp_path, None, NOW)
