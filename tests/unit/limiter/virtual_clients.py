# SPDX-License-Identifier: Apache-2.0
"""Clients of a ledger on a virtual clock: they ask, wait as they are told, hold, hand back, cancel or die."""

import heapq
from itertools import count

from truegreen.limiter import ledger as rules
from truegreen.limiter.state import Go, Gone, Later, Queued, Refused, Request


class Client:
    """One ask and its call."""

    def __init__(self, at, request, *, hold=0, used=None, dies=False, gives_up_at=None, late=0):  # noqa: PLR0913 - a client has these
        """``late`` is how long after its moment it looks; ``dies`` leaves the place to its expiry."""
        self.at, self.request, self.hold, self.used, self.dies = at, request, hold, used, dies
        self.gives_up_at, self.late = gives_up_at, late
        self.ticket = self.left = self.ended = self.fate = None


class World:
    """Clients in the order of a virtual clock; every step of the ledger is the real one."""

    def __init__(self, limits, clients, *, now=0):
        """Nothing runs before ``run``."""
        self.ledger = rules.new_ledger(limits, now)
        self.clients = {client.request.id: client for client in clients}
        self.events, self.order, self.number = [], [], count()
        for client in clients:
            self._at(client.at, "ask", client)
            if client.gives_up_at is not None:
                self._at(client.gives_up_at, "cancel", client)

    def run(self):
        """All events, and the clients in the order in which they left."""
        while self.events:
            now, _, what, client = heapq.heappop(self.events)
            getattr(self, what)(client, now)
        return self.order

    def ask(self, client, now):
        """The client asks."""
        self._heard(client, now, rules.ask(self.ledger, client.request, now))

    def look(self, client, now):
        """The client looks, unless its fate is known."""
        if client.fate is None and client.left is None:
            self._heard(client, now, rules.look(self.ledger, client.request.id, now))

    def end(self, client, now):
        """The client's call ends."""
        client.ended = now
        self._heard(
            client, now, rules.hand_back(self.ledger, client.request.id, now, used_tokens=client.used)
        )

    def cancel(self, client, now):
        """The client gives up, if it has not left."""
        if client.fate is None and client.left is None:
            client.fate = "cancelled"
            self._heard(client, now, rules.hand_back(self.ledger, client.request.id, now))

    def _heard(self, client, now, step):
        self.ledger = step.ledger
        for place in step.woken:
            other = self.clients[place.id]
            self._at(now + other.late, "look", other)
        match step.answer:
            case Go(ticket=ticket):
                client.ticket, client.left = ticket, now
                self.order.append(client)
                if client.dies:
                    client.ended = now + self.ledger.limits.lease_ns
                else:
                    self._at(now + client.hold, "end", client)
            case Later(ticket=ticket, wait_ns=wait):
                client.ticket = ticket
                self._at(now + max(1, wait) + client.late, "look", client)
            case Queued(ticket=ticket):
                client.ticket = ticket
                self._at(now + self.ledger.limits.lease_ns // 3, "look", client)
            case Refused(reason=reason):
                client.fate = reason
            case Gone():
                client.fate = client.fate or ("ended" if client.ended else "gone")

    def _at(self, when, what, client):
        heapq.heappush(self.events, (when, next(self.number), what, client))


def asks(number, **fields):
    """So many requests that differ in their ids."""
    return [Request(id=f"c{index}", **fields) for index in range(number)]
