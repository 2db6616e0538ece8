# SPDX-License-Identifier: Apache-2.0
"""truegreen: a green you can defend.

An evidence-based merge gate for CI pipelines that contain model-backed work.
"""

__version__ = "0.1.0.dev0"
"""The version; the build reads it from here, because asking the installed metadata is slow."""


def version() -> str:
    """The version of this program."""
    return __version__
