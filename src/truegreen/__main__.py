# SPDX-License-Identifier: Apache-2.0
"""The command ``truegreen``, also as ``python -m truegreen``: one question, one answer, one process.

What it decides: how much this process collects garbage. What it leaves: the command line, to ``cli.main``.

- Python looks for rings of garbage whenever 700 containers are new, and for all of them when it ends. Modules and
  classes are no garbage: a gate would spend a tenth of its time on a search that finds nothing.
"""

import gc
import sys

YOUNG_OBJECTS = 100_000
"""New containers before the collector looks at them; a start makes fewer, a large set of evidence many more."""


def main() -> int:
    """Answer the command line of this process with its exit code."""
    gc.set_threshold(YOUNG_OBJECTS)
    from truegreen.cli.main import run  # noqa: PLC0415 - what it loads counts

    code = run()
    gc.freeze()  # what is left goes with the process
    return code


if __name__ == "__main__":
    sys.exit(main())
