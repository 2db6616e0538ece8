# SPDX-License-Identifier: Apache-2.0
"""Lets the golden tests import the script that rebuilds what they compare."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
