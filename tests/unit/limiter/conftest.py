# SPDX-License-Identifier: Apache-2.0
"""What the tests of the limiter share is imported from beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import random

import pytest


@pytest.fixture
def rng():
    """Chance that is the same in every run."""
    return random.Random(4)
