# SPDX-License-Identifier: Apache-2.0
"""Sees on the loopback of a network namespace who was asked for outside it.

What it decides: which packets are an attempt to reach out, and how each is told. What it leaves: refusing them, to
the kernel, which has nobody at those addresses; what an attempt means for the run, to the caller.

- A first packet of a TCP connection, a datagram, an echo request and any other transport to an address that is
  not loopback is an attempt. Multicast and broadcast reach nobody and are none.
- A refusal on loopback is an attempt if somebody outside listens at that port: a model server of this machine, say.
- A question to a name server is told with the name that was asked for; a question for this machine's own name is
  none. A name server on loopback (systemd's, say) would have asked outside, so a question to it counts too.
- Packets of the proxy are dropped in the kernel, so that the witness has little to read; packets that it lost are
  counted, because what was lost may have been an attempt.
"""

from __future__ import annotations

import ctypes
import ipaddress
import socket
import struct
from collections.abc import Collection, Iterator
from contextlib import suppress

from truegreen.guards.attempts import Attempt

ETH_P_ALL, ETH_P_IP, ETH_P_IPV6 = 0x0003, 0x0800, 0x86DD
SO_ATTACH_FILTER = 26
SOL_PACKET, PACKET_STATISTICS = 263, 6
PACKET_HOST = 0
BUFFER_BYTES = 8 * 1024 * 1024
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
SYN, RST, ACK = 0x02, 0x04, 0x10
DNS_PORT = 53
ECHO_V4, ECHO_V6 = 8, 128
HEAD_V4, HEAD_V6 = 20, 40
DNS_HEAD = 12
LOOPBACK_V4 = 127

_FILTER = (
    (0x28, 0, 0, 0xFFFFF000),  # the packet's protocol
    (0x15, 0, 12, ETH_P_IP),
    (0x30, 0, 0, 16),  # first byte of the IPv4 destination
    (0x15, 0, 10, LOOPBACK_V4),
    (0xB1, 0, 0, 0),  # length of its header
    (0x30, 0, 0, 9),  # its transport
    (0x15, 2, 0, UDP),
    (0x15, 3, 0, TCP),
    (0x06, 0, 0, 0),
    (0x48, 0, 0, 2),  # port of the destination
    (0x15, 3, 2, DNS_PORT),
    (0x50, 0, 0, 13),  # flags
    (0x45, 1, 0, RST),
    (0x06, 0, 0, 0),
    (0x06, 0, 0, 0xFFFF),
)
"""Classic BPF: of packets to 127.0.0.0/8 only questions to a name server and refusals are kept; all others are."""


class Witness:
    """An open ear on loopback; made inside the namespace, with its privileges."""

    def __init__(self, outside: Collection[int] = ()) -> None:
        """``outside`` are ports at which somebody on this machine listens, outside the namespace.

        Raises: OSError without CAP_NET_RAW in this namespace.
        """
        self._outside = frozenset(outside)
        self._own = socket.gethostname().lower().encode("ascii", "replace")
        self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        code = b"".join(struct.pack("=HBBI", *step) for step in _FILTER)
        held = ctypes.create_string_buffer(code, len(code))
        self._sock.setsockopt(
            socket.SOL_SOCKET,
            SO_ATTACH_FILTER,
            struct.pack("@HP", len(_FILTER), ctypes.addressof(held)),
        )
        with suppress(OSError):
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._sock.setblocking(False)
        self._sock.bind(("lo", ETH_P_ALL))

    def seen(self) -> Iterator[Attempt]:
        """Attempts since the last call, in order."""
        while True:
            try:
                data, place = self._sock.recvfrom(0xFFFF)
            except BlockingIOError:
                return
            if (
                place[2] == PACKET_HOST
                and (found := attempt_of(place[1], data, self._own, self._outside)) is not None
            ):
                yield found

    def lost(self) -> int:
        """Packets that were not read since the last call."""
        raw = self._sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        return int(struct.unpack("=II", raw)[1])

    def close(self) -> None:
        """Stop listening."""
        self._sock.close()


def attempt_of(
    protocol: int, data: bytes, own_name: bytes = b"", outside: Collection[int] = ()
) -> Attempt | None:
    """What a packet says of reaching out, or None; ``data`` begins with its IP header."""
    if protocol == ETH_P_IP and len(data) >= HEAD_V4:
        address = ipaddress.ip_address(data[16:20])
        transport, rest = data[9], data[(data[0] & 0xF) * 4 :]
        if address == ipaddress.IPv4Address("255.255.255.255"):
            return None
    elif protocol == ETH_P_IPV6 and len(data) >= HEAD_V6:
        address = ipaddress.ip_address(data[24:40])
        transport, rest = data[6], data[HEAD_V6:]
    else:
        return None
    if address.is_multicast or address.is_unspecified:
        return None
    if address.is_loopback and transport == TCP:
        return _refused(rest, outside)
    found = _told(address, transport, rest, own_name)
    return None if found is not None and address.is_loopback and found.what != "lookup" else found


def _refused(rest: bytes, outside: Collection[int]) -> Attempt | None:
    """A refusal by a port at which nobody listens here and somebody does outside."""
    if len(rest) <= 13 or rest[13] & (RST | ACK) != RST | ACK:  # noqa: PLR2004 - the byte of flags
        return None
    port = int.from_bytes(rest[:2])
    return _attempt("connect", f"127.0.0.1:{port}") if port in outside else None


def _told(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address, transport: int, rest: bytes, own_name: bytes
) -> Attempt | None:
    host = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004 - the version's own number
    if transport == TCP and len(rest) > 13:  # noqa: PLR2004 - the byte of flags
        is_first = rest[13] & (SYN | ACK) == SYN
        return _attempt("connect", f"{host}:{_port(rest)}") if is_first else None
    if transport == UDP and len(rest) >= 8:  # noqa: PLR2004 - the header
        name = _asked_name(rest[8:]) if _port(rest) == DNS_PORT else None
        if name is not None and _is_of_this_machine(name.lower(), own_name):
            return None
        if name is not None:
            return _attempt("lookup", f"{name.decode('ascii', 'backslashreplace')} (at {host}:{DNS_PORT})")
        return _attempt("datagram", f"{host}:{_port(rest)}")
    if transport in (ICMP, ICMPV6):
        is_echo = rest[:1] in (bytes([ECHO_V4]), bytes([ECHO_V6]))
        return _attempt("echo", host) if is_echo else None
    return _attempt(f"protocol-{transport}", host)


def _is_of_this_machine(name: bytes, own_name: bytes) -> bool:
    first = name.split(b".")[0]
    return first == b"localhost" or (bool(own_name) and first == own_name.split(b".")[0])


def _attempt(what: str, address: str) -> Attempt:
    return Attempt(layer="packet", what=what, address=address)


def _port(rest: bytes) -> int:
    return int.from_bytes(rest[2:4])


def _asked_name(message: bytes) -> bytes | None:
    """Name of a DNS question, or None if these are no such bytes."""
    labels, place = [], DNS_HEAD
    while place < len(message) and (length := message[place]) != 0:
        if length > 63 or place + 1 + length > len(message):  # noqa: PLR2004 - RFC 1035 §2.3.4
            return None
        labels.append(message[place + 1 : place + 1 + length])
        place += 1 + length
    return b".".join(labels) if labels and place < len(message) else None
