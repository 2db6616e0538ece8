# SPDX-License-Identifier: Apache-2.0
"""In every bounded world the gate says the word that the rules give, and admits only what the property allows."""

import pytest

from simulators.disk_git import DiskGit
from truegreen.forges.git import GitRepository
from worlds.oracle import word
from worlds.spaces import FAMILIES
from worlds.terrain import Terrain, decided


@pytest.mark.parametrize("family", FAMILIES)
def test_the_gate_says_what_the_rules_give(family, folder, counted):
    """Word for word, over the full product of what the family varies; every word is said at least once."""
    wrong = []
    for world in FAMILIES[family]():
        made = decided(world, folder)
        counts = counted(family, made.word.value)
        if made.word.value != word(world):
            wrong.append((word(world), made.word.value, made.code, world))
    assert [] == wrong[:3]
    assert {"admit", "hold", "block"} == set(counts)


REAL = {
    name: next(world for world in FAMILIES[family]() if word(world) == asked)
    for name, family, asked in (
        ("rerun-admit", "reruns", "admit"),
        ("rerun-block", "reruns", "block"),
        ("queue-admit", "queue", "admit"),
        ("queue-hold", "queue", "hold"),
        ("push-admit", "pushes", "admit"),
        ("base-hold", "bases", "hold"),
        ("runs-block", "other-runs", "block"),
        ("roles-hold", "roles", "hold"),
    )
}
"""A world of each kind for the comparison with real git."""


@pytest.mark.parametrize("name", REAL)
def test_a_real_repository_gives_the_same_decision(name, folder, tmp_path):
    """The simulator stands for git in ten thousand worlds; here git stands for itself."""
    world = REAL[name]
    builder = DiskGit(tmp_path / "clone.git")
    with GitRepository(builder.path, {"PATH": "/usr/bin:/bin:/usr/local/bin"}) as port:
        land = Terrain(world.lanes, world.quarantine, world.event, builder, port)
        real, simulated = decided(world, folder, land=land), decided(world, folder)
    assert (simulated.word, simulated.code, simulated.exit_code) == (real.word, real.code, real.exit_code)
