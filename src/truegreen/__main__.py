# SPDX-License-Identifier: Apache-2.0
"""``python -m truegreen`` is the command ``truegreen``."""

import sys

from truegreen.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
