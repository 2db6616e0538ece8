# SPDX-License-Identifier: Apache-2.0
"""Shapes of paths, patterns of paths and branches in a policy.

What it decides: which texts name exactly one path, set of paths or branch. What it leaves: which key has which shape, to
``policy_keys``.

- A branch is named exactly and a path starts at the root: what a policy guards can be read off it.
"""

from __future__ import annotations

from typing import Final

from truegreen.core import names
from truegreen.core.shapes import Rule, Text

_NO_BACKSLASH = Rule(
    pattern=r"[^\x00-\x1f\x7f\\]*", asked="a path with / and without backslashes or control characters"
)
_SEGMENTS = Rule(
    pattern=r"(?!\.{1,2}(?:/|$))[^/]+(?:/(?!\.{1,2}(?:/|$))[^/]+)*",
    asked='a path from the root without empty, "." or ".." segments, such as tests/llm',
)
_GLOB = Rule(
    format="path-pattern",
    asked="a pattern of paths as in a .gitignore, without negation, such as docs/**",
)
_NFC = Rule(format="nfc", asked="a path in Unicode normal form C")
_NO_WILDCARD = Rule(pattern=r"[^*?\[]*", asked="the exact name of a branch: patterns are not read")
_SHORT = Rule(pattern=r"(?!refs/)[^\n]*", asked="the short name of a branch, such as main")
_REF = Rule(
    pattern=r"(?![-/.])(?!@$)(?:(?!\.\.|//|@\{|/\.|\.lock(?:/|$))[^\x00-\x20\x7f~^:\\])+(?<![/.])",
    asked="a name that git allows for a branch",
)
_WORKFLOW = Rule(
    pattern=r"\.github/workflows/[^/\x00-\x1f\x7f\\]+\.ya?ml",
    asked="the path of a workflow file, such as .github/workflows/truegreen.yml",
)

PATH: Final = Text(
    meaning="a path from the root", max_characters=1024, rules=(_NO_BACKSLASH, _SEGMENTS, _NFC)
)
PATTERN: Final = Text(meaning="a pattern of paths", max_characters=names.MAX_PATTERN, rules=(_GLOB, _NFC))
BRANCH: Final = Text(meaning="the name of a branch", max_characters=255, rules=(_NO_WILDCARD, _SHORT, _REF))
WORKFLOW_PATH: Final = Text(
    meaning="the path of a workflow file", max_characters=255, rules=(_WORKFLOW, _NFC)
)
