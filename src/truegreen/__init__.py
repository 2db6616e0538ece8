# SPDX-License-Identifier: Apache-2.0
"""truegreen: a green you can defend.

An evidence-based merge gate for CI pipelines that contain model-backed work.
"""


def version() -> str:
    """The installed version; read from the metadata only when asked, to keep start-up short."""
    from importlib.metadata import version as installed  # noqa: PLC0415 - see above

    return installed("truegreen")
