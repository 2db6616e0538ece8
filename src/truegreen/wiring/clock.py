# SPDX-License-Identifier: Apache-2.0
"""The clock of this machine."""

from __future__ import annotations

from datetime import UTC, datetime

from truegreen.core.instants import instant_text


class SystemClock:
    """Implements ``core.ports.Clock``."""

    def now(self) -> str:
        """UTC RFC 3339 in whole seconds."""
        return instant_text(datetime.now(UTC))
