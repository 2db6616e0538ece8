# SPDX-License-Identifier: Apache-2.0
"""Writes the JSON Schemas of the package; ``tools/schemas.py`` says how they are made."""

import runpy
from pathlib import Path

if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).parents[3] / "tools" / "schemas.py"), run_name="__main__")
