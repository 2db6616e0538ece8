# SPDX-License-Identifier: Apache-2.0
"""Packets that are attempts, packets that are none, and bytes that are no packets."""

import ipaddress
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truegreen.guards import witness
from truegreen.guards.witness import attempt_of


def ipv4(host, transport, rest, options=b""):
    """A packet from its IP header on."""
    size = 20 + len(options)
    head = struct.pack("!BBHHHBBH", 0x40 | size // 4, 0, size + len(rest), 0, 0, 64, transport, 0)
    return head + bytes(4) + ipaddress.ip_address(host).packed + options + rest


def ipv6(host, transport, rest):
    """The same for IPv6."""
    return (
        struct.pack("!IHBB", 6 << 28, len(rest), transport, 64)
        + bytes(16)
        + ipaddress.ip_address(host).packed
        + rest
    )


def tcp(port, flags):
    """A TCP header."""
    return struct.pack("!HHIIBBHHH", 5000, port, 0, 0, 5 << 4, flags, 0, 0, 0)


def udp(port, data=b""):
    """A datagram."""
    return struct.pack("!HHHH", 5000, port, 8 + len(data), 0) + data


def question(name):
    """A DNS message that asks for one name."""
    labels = b"".join(bytes([len(part)]) + part for part in name.encode().split(b"."))
    return bytes(12) + labels + b"\0" + b"\0\x01\0\x01"


def told(data, protocol=witness.ETH_P_IP, own=b"runner-1.lan"):
    """What and address, or None."""
    found = attempt_of(protocol, data, own)
    return None if found is None else (found.layer, found.what, found.address)


SYN, SYN_ACK = 0x02, 0x12


def test_a_first_packet_to_the_outside_is_an_attempt():
    """With host and port, in both families, IP options or not."""
    assert ("packet", "connect", "93.184.216.34:443") == told(ipv4("93.184.216.34", 6, tcp(443, SYN)))
    assert ("packet", "connect", "93.184.216.34:443") == told(
        ipv4("93.184.216.34", 6, tcp(443, SYN), bytes(8))
    )
    found = told(ipv6("2606:4700::1111", 6, tcp(80, SYN)), witness.ETH_P_IPV6)
    assert ("packet", "connect", "[2606:4700::1111]:80") == found


def test_answers_and_later_packets_are_none():
    """A refused connection is told once."""
    assert [None, None] == [told(ipv4("93.184.216.34", 6, tcp(443, flags))) for flags in (SYN_ACK, 0x14)]


def test_loopback_and_multicast_reach_nobody():
    """The proxy, service discovery, broadcast and the unspecified address."""
    none = [
        told(ipv4("127.0.0.1", 6, tcp(443, SYN))),
        told(ipv4("224.0.0.251", 17, udp(5353))),
        told(ipv4("255.255.255.255", 17, udp(67))),
        told(ipv6("::1", 6, tcp(80, SYN)), witness.ETH_P_IPV6),
        told(ipv6("ff02::2", 58, b"\x85\0\0\0"), witness.ETH_P_IPV6),
        told(b"\0" * 60, 0x0806),
    ]
    assert [None] * 6 == none


def test_a_refusal_of_a_port_that_is_served_outside_is_an_attempt():
    """A model server of this machine is asked, and is not there; a port of nobody is no matter."""
    refusal = ipv4("127.0.0.1", 6, struct.pack("!HHIIBBHHH", 11434, 5000, 0, 0, 5 << 4, 0x14, 0, 0, 0))
    found = attempt_of(witness.ETH_P_IP, refusal, b"own", {11434})
    assert ("connect", "127.0.0.1:11434") == (found.what, found.address)
    assert None is attempt_of(witness.ETH_P_IP, refusal, b"own", {8000})
    accepted = ipv4("127.0.0.1", 6, struct.pack("!HHIIBBHHH", 11434, 5000, 0, 0, 5 << 4, SYN_ACK, 0, 0, 0))
    assert None is attempt_of(witness.ETH_P_IP, accepted, b"own", {11434})


def test_a_lookup_says_its_name():
    """At a name server outside, and at one on loopback that would ask outside."""
    assert ("packet", "lookup", "api.openai.com (at 8.8.8.8:53)") == told(
        ipv4("8.8.8.8", 17, udp(53, question("api.openai.com")))
    )
    assert ("packet", "lookup", "api.openai.com (at 127.0.0.53:53)") == told(
        ipv4("127.0.0.53", 17, udp(53, question("api.openai.com")))
    )


@pytest.mark.parametrize(
    "name", ["runner-1", "runner-1.lan", "RUNNER-1.internal", "localhost", "localhost.lan"]
)
def test_this_machines_own_name_is_no_attempt(name):
    """Programs ask for it without wanting to go anywhere."""
    assert None is told(ipv4("8.8.8.8", 17, udp(53, question(name))))


def test_other_transports_are_attempts():
    """Datagrams, echo requests, and whatever else has a number."""
    assert ("packet", "datagram", "8.8.8.8:443") == told(ipv4("8.8.8.8", 17, udp(443, b"quic")))
    assert ("packet", "echo", "8.8.8.8") == told(ipv4("8.8.8.8", 1, b"\x08\0\0\0"))
    assert ("packet", "protocol-132", "8.8.8.8") == told(ipv4("8.8.8.8", 132, bytes(12)))
    assert None is told(ipv4("8.8.8.8", 1, b"\x03\x03\0\0"))


@given(st.sampled_from([witness.ETH_P_IP, witness.ETH_P_IPV6, 0, 0x8100]), st.binary(max_size=120))
def test_no_bytes_break_the_reader(protocol, data):
    """A program can send whatever it likes."""
    found = attempt_of(protocol, data, b"own")
    assert found is None or found.layer == "packet"


def test_a_name_that_is_cut_is_a_datagram():
    """What cannot be read as a question is told by its address."""
    assert ("packet", "datagram", "8.8.8.8:53") == told(ipv4("8.8.8.8", 17, udp(53, bytes(12) + b"\x3fabc")))


LISTEN = """
import json, socket
from truegreen.guards import namespace
from truegreen.guards.witness import Witness
namespace.enter()
own = socket.create_server(("127.0.0.1", 0))
with socket.create_server(("127.0.0.1", 0)) as gone:
    served, unserved = gone.getsockname(), ("127.0.0.1", 1)
ear = Witness([served[1]])
socket.create_connection(own.getsockname()).close()
for place in (served, unserved):
    with socket.socket() as sock:
        sock.connect_ex(place)
for host in ("203.0.113.9", "198.51.100.3"):
    with socket.socket() as sock:
        sock.connect_ex((host, 443))
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    sock.sendto(b"x", ("203.0.113.9", 1234))
print(json.dumps([[f"{each.what} {each.address}".replace(str(served[1]), "SERVED") for each in ear.seen()], [each for each in ear.seen()], ear.lost()]))
"""


def test_the_kernel_shows_what_was_sent(elsewhere, refused_here):
    """In the order of sending, each once, nothing lost, and nothing of loopback."""
    if refused_here["namespace"]:
        pytest.skip(f"this machine does not allow namespaces: {refused_here['namespace']}")
    seen = [
        "connect 127.0.0.1:SERVED",
        "connect 203.0.113.9:443",
        "connect 198.51.100.3:443",
        "datagram 203.0.113.9:1234",
    ]
    assert [seen, [], 0] == elsewhere(LISTEN)
