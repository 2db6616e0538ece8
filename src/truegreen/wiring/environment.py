# SPDX-License-Identifier: Apache-2.0
"""The environment of this process, for doors that hand it on."""

from __future__ import annotations

import os
from collections.abc import Mapping


def environment() -> Mapping[str, str]:
    """The variables of this process."""
    return os.environ
