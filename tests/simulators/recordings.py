# SPDX-License-Identifier: Apache-2.0
"""A RecordingPort in memory: keyed by everything that was asked, played in the order of keeping."""

import hashlib

from truegreen.core.recording import Miss


class MemoryRecordings:
    """Keeps and plays; ``refuses`` is raised by ``keep`` where it is set."""

    def __init__(self, *, refuses=None):
        self.kept = []
        self.asked = []
        self.refuses = refuses
        self._left = {}

    @staticmethod
    def key(asked):
        """Digest of method, path, query and body: what the tests vary."""
        text = f"{asked.method}\0{asked.path}\0{asked.query}\0".encode() + asked.body
        return f"sha256:{hashlib.sha256(text).hexdigest()}"

    def play(self, asked):
        """The next recording of this request, or a miss."""
        self.asked.append(asked)
        key = self.key(asked)
        known = [answered for old, answered in self.kept if self.key(old) == key]
        left = self._left.setdefault(key, list(known))
        if left:
            return left.pop(0)
        if known:
            return Miss(
                code="cassette-exhausted",
                message=f"the recording of {asked.path} was played {len(known)} times, which is all",
                key=key,
            )
        return Miss(
            code="cassette-missing",
            message=f"no recording answers {asked.method} {asked.path}",
            key=key,
            nearest="nearest.json",
            differs_at="$.messages[0].content",
        )

    def keep(self, asked, answered):
        """Remember an answer."""
        if self.refuses is not None:
            raise self.refuses
        self.kept.append((asked, answered))

    def rewound(self):
        """The same recordings for a new session."""
        fresh = MemoryRecordings()
        fresh.kept = list(self.kept)
        return fresh
