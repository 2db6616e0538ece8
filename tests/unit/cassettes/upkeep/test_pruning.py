# SPDX-License-Identifier: Apache-2.0
"""Recordings go only if a whole, green run of this very folder did not play them."""

import pytest

from factories.cassettes import CHAT, answered, asked, folder, recorder
from factories.sessions import hit, miss, session
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.upkeep.listing import seen
from truegreen.cassettes.upkeep.pruning import unused
from truegreen.core.errors import EvidenceProblem


@pytest.fixture
def three(tmp_path):
    """Three recordings: their names, their keys, and everything as it was seen."""
    store = recorder(tmp_path)
    for seed in range(3):
        store.keep(asked(CHAT | {"seed": seed}), answered("4"))
    opened = folder(tmp_path)
    files = {name: opened.read(name) for name in opened.names()}
    keys = {name: read_cassette(data, name).key for name, data in files.items()}
    return list(files), keys, files


def _whole(three, **changes):
    names, keys, _ = three
    said = {"hits": (hit(names[0], keys[names[0]]), hit(names[1], keys[names[1]])), "unused": (names[2],)}
    return session(**said | changes)


def test_what_a_whole_green_run_did_not_play_may_go(three):
    """And nothing else."""
    assert (three[0][2],) == unused([_whole(three)], 1, seen(three[2]))


def test_played_by_any_worker_or_shard_is_used(three):
    """The union over all parts counts."""
    names, keys, files = three
    parts = [
        session(hits=(hit(names[0], keys[names[0]]),), unused=(names[1], names[2])),
        session(hits=(hit(names[2], keys[names[2]]),), unused=(names[0], names[1])),
    ]
    assert (names[1],) == unused(parts, 2, seen(files))
    for given, said in ((parts[:1], 2), (parts, 1), (parts, 3)):
        with pytest.raises(EvidenceProblem) as caught:
            unused(given, said, seen(files))
        assert "cannot-prune" == caught.value.code


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"complete": False, "incomplete_because": "-k labels"}, "-k labels"),
        ({"complete": False}, "no reason"),
        ({"command_exit": 1}, "ended with 1"),
        ({"command_exit": None}, "ended with None"),
        ({"misses": (miss(count=2),)}, "2 requests"),
        ({"upstream_calls": 1}, "no replay"),
    ],
)
def test_a_run_that_proves_nothing_is_refused(three, changes, words):
    """Selected, interrupted, red, with a miss, or not a replay."""
    with pytest.raises(EvidenceProblem, match=words) as caught:
        unused([_whole(three, **changes)], 1, seen(three[2]))
    assert "cannot-prune" == caught.value.code


def test_a_folder_that_has_changed_since_is_refused(three, tmp_path):
    """A recording more, one less, another under the same name."""
    names, keys, files = three
    with pytest.raises(EvidenceProblem, match="not in the run's account"):
        unused([_whole(three)], 1, seen(files | {"f" * 12 + ".json": b"{}"}))
    with pytest.raises(EvidenceProblem, match="not in the folder any more"):
        unused([_whole(three)], 1, seen({name: files[name] for name in names[:2]}))
    wrong = hit(names[0], keys[names[1]])
    with pytest.raises(EvidenceProblem, match="does not hold the request"):
        unused([_whole(three, hits=(wrong, hit(names[1], keys[names[1]])))], 1, seen(files))
    with pytest.raises(EvidenceProblem, match="does not hold the request"):
        unused([_whole(three)], 1, seen(files | {names[0]: b"{"}))


def test_an_account_that_contradicts_itself_is_refused(three):
    """Played and unused at once."""
    names, _, files = three
    with pytest.raises(EvidenceProblem, match="was played and is unused"):
        unused([_whole(three, unused=(names[0], names[2]))], 1, seen(files))


def test_no_session_prunes_nothing(three):
    """Zero parts are no run."""
    with pytest.raises(EvidenceProblem):
        unused([], 0, seen(three[2]))
