# SPDX-License-Identifier: Apache-2.0
"""Both engines for one suite: plain tests in forks, case files in one forked process that asks many at once.

- The asking process is forked before it has threads or a loop; this one stays without.
- If that process dies, every sample in it ended by crash, and another one is forked for the rest.
"""

from __future__ import annotations

import os
import socket
from typing import Any, NoReturn

from truegreen.pytest_plugin import fork_worker
from truegreen.pytest_plugin.case_item import CaseItem
from truegreen.pytest_plugin.fork_host import ForkHost, end_in_words, end_reason, kill
from truegreen.sampling.engines.channel import Channel
from truegreen.sampling.engines.messages import Ended, FromHost, Start, ToHost


class MixedHost(ForkHost):
    """A fork host that hands case files on."""

    _asker: Channel[FromHost] | None = None
    _asker_pid = 0

    def route(self, start: Start) -> None:
        """Case files to the asking process, the rest to forks."""
        if not isinstance(self._items[start.index], CaseItem):
            self.take(start)
            return
        if self._asker is None:
            self._asker = self._fork_asker()
        self._asking[start.index, start.n, start.draw] = start
        self._asker.send(start)

    def relayed(self, message: Any) -> None:
        """One sample of the asking process has ended."""
        if isinstance(message, Ended):
            self._asking.pop((message.index, message.n, message.draw), None)

    def relay_lost(self, channel: Channel[Any]) -> None:
        """The asking process is gone: its samples ended by crash."""
        self.relays.pop(channel.fileno(), None)
        channel.close()
        kill(self._asker_pid)
        _, status = os.waitpid(self._asker_pid, 0)
        self._asker = None
        for start in self._asking.values():
            self._up.send(
                Ended(
                    index=start.index, n=start.n, draw=start.draw, status="crashed",
                    reason=end_reason(status), detail=end_in_words(status),
                )
            )  # fmt: skip
        self._asking.clear()

    def close(self) -> None:
        """End the asking process."""
        super().close()
        if self._asker is not None:
            kill(self._asker_pid)
            os.waitpid(self._asker_pid, 0)

    def _fork_asker(self) -> Channel[FromHost]:
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self.leave_to_child(ours)
            self._ask(theirs)
        theirs.close()
        self._asker_pid = pid
        channel: Channel[FromHost] = Channel(ours, FromHost)
        self.add_relay(channel)
        return channel

    def _ask(self, sock: socket.socket) -> NoReturn:
        code = 1
        try:
            from truegreen.pytest_plugin.async_host import serve  # noqa: PLC0415 - loads asyncio, here alone

            fork_worker.become_own(self._items[0].config)
            serve(self._items, Channel[ToHost](sock, ToHost), self._slots, self._account.opened)
            code = 0
        finally:
            os._exit(code)
