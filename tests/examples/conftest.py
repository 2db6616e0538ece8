# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the examples compare a documented screen as the tests of the documentation do."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
