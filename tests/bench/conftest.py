# SPDX-License-Identifier: Apache-2.0
"""Lets the tests of the benchmark import it as it imports itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
