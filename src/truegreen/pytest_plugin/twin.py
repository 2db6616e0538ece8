# SPDX-License-Identifier: Apache-2.0
"""A fresh twin of a collected test item, so that no sample meets what an earlier one left.

What it decides: which fields of an item a sample may change, and hence are its own. What it leaves: running
it, to the engines.

pytest runs an item once. A second run of the same item finds its ``funcargs`` gone, its class instance, user
properties, captured sections and markers as the first run left them. A twin is a copy of the item as
collected with its own of each; fixtures up to function scope are made anew because the item before it is torn
down to its parent. The fields are pytest's private ones: ``tests/unit/pytest_plugin/test_twin.py``
names each, and the package pins the major version of pytest.
"""

from __future__ import annotations

import copy
from typing import Any, TypeVar

import pytest

Item = TypeVar("Item", bound=pytest.Item)

OWN_LISTS = ("_report_sections", "user_properties", "own_markers")
"""Lists of an item that a test, its fixtures or plugins append to."""
OF_ONE_INSTANCE = ("_instance", "_obj")
"""Fields that hold the class instance, or a method bound to it."""


def fresh_twin(item: Item) -> Item:
    """A copy of ``item`` that shares with it nothing that one run may change."""
    twin: Any = copy.copy(item)
    for name in OWN_LISTS:
        setattr(twin, name, list(getattr(item, name)))
    twin.extra_keyword_matches = set(item.extra_keyword_matches)
    twin.stash = copy.copy(item.stash)
    twin.stash._storage = dict(item.stash._storage)  # noqa: SLF001 - a stash has no public copy
    twin._store = twin.stash  # noqa: SLF001 - the old name of the same field
    twin.keywords = copy.copy(item.keywords)
    twin.keywords._markers = dict(twin.keywords._markers)  # noqa: SLF001 - neither have keywords
    twin.keywords.node = twin
    if isinstance(item.parent, pytest.Class):
        for name in OF_ONE_INSTANCE:
            twin.__dict__.pop(name, None)
    if hasattr(twin, "fixturenames"):
        twin.fixturenames = list(twin.fixturenames)  # plugins append their own during set-up
    if hasattr(twin, "_initrequest"):
        twin._initrequest()  # noqa: SLF001 - what pytest itself calls before a second run
    return twin  # type: ignore[no-any-return] # private fields made it Any
