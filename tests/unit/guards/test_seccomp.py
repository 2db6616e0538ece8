# SPDX-License-Identifier: Apache-2.0
"""The filter of system calls, run by an interpreter of ours for every case and by the kernel for some."""

import errno
import socket
import struct

import pytest

from truegreen.guards import seccomp

CALLS = seccomp.KNOWN["x86_64"]
ARM = seccomp.KNOWN["aarch64"]
REFUSED = seccomp.FAIL | errno.EACCES
ABSENT = seccomp.FAIL | errno.ENOSYS
SOCKET_CASES = [
    ((socket.AF_INET, socket.SOCK_STREAM, 0), seccomp.ALLOW),
    ((socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP), seccomp.ALLOW),
    ((socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, 0), seccomp.ALLOW),
    ((socket.AF_UNIX, socket.SOCK_DGRAM, 0), seccomp.ALLOW),
    ((socket.AF_NETLINK, socket.SOCK_RAW, 0), seccomp.ALLOW),
    ((socket.AF_INET, socket.SOCK_DGRAM, 0), REFUSED),
    ((socket.AF_INET, socket.SOCK_RAW, 1), REFUSED),
    ((socket.AF_INET, socket.SOCK_STREAM, 132), REFUSED),  # SCTP
    ((socket.AF_INET6, socket.SOCK_STREAM, 262), REFUSED),  # Multipath TCP
    ((socket.AF_VSOCK, socket.SOCK_STREAM, 0), REFUSED),
    ((socket.AF_PACKET, socket.SOCK_RAW, 0), REFUSED),
    ((99, socket.SOCK_STREAM, 0), REFUSED),
]


def verdict(calls, number, arguments=(), audit=None, program=seccomp.program):
    """What the program answers to a call; classic BPF as far as the program uses it."""
    given = [*arguments, *([0] * (6 - len(arguments)))]
    data = struct.pack("<iIQ6Q", number, audit or calls.audit, 0, *given)
    code = [struct.unpack_from("=HBBI", program(calls), at) for at in range(0, len(program(calls)), 8)]
    place = held = 0
    while True:
        word, then, other, value = code[place]
        place += 1
        match word:
            case seccomp.LOAD_WORD:
                held = struct.unpack_from("<I", data, value)[0]
            case seccomp.KEEP_BITS:
                held &= value
            case seccomp.RETURN:
                return value
            case seccomp.JUMP_EQUAL:
                place += then if held == value else other
            case seccomp.JUMP_AT_LEAST:
                place += then if held >= value else other
            case seccomp.JUMP_ANY_BIT:
                place += then if held & value else other
            case _:
                raise AssertionError(word)


@pytest.mark.parametrize("calls", [CALLS, ARM], ids=["x86_64", "aarch64"])
@pytest.mark.parametrize(("asked", "right"), SOCKET_CASES)
def test_a_socket_is_tcp_or_stays_on_this_machine(calls, asked, right):
    """Other transports and families would reach out unseen by an address check."""
    assert right == verdict(calls, calls.socket, asked)


@pytest.mark.parametrize("calls", [CALLS, ARM], ids=["x86_64", "aarch64"])
def test_data_in_a_syn_is_refused_in_every_sending_call(calls):
    """The flag is looked for where each call has it."""
    for number, at in calls.flags:
        arguments = [0] * 6
        assert seccomp.ALLOW == verdict(calls, number, arguments)
        arguments[at] = seccomp.MSG_FASTOPEN | 0x4000
        assert REFUSED == verdict(calls, number, arguments)


def test_io_uring_cannot_be_set_up():
    """It connects without the call."""
    assert REFUSED == verdict(CALLS, seccomp.IO_URING_SETUP)


def test_other_calls_pass():
    """Reading, and a number nobody knows yet."""
    assert [seccomp.ALLOW] * 3 == [verdict(CALLS, number) for number in (0, 59, 999)]


def test_another_instruction_set_has_no_calls():
    """The same processor's other numbers would mean other calls."""
    assert ABSENT == verdict(CALLS, 0, audit=0x40000003)
    assert ABSENT == verdict(CALLS, seccomp.X32_BIT | CALLS.socket, (socket.AF_INET, socket.SOCK_DGRAM, 0))


@pytest.mark.parametrize(("asked", "right"), SOCKET_CASES)
def test_inside_a_namespace_only_the_family_counts(asked, right):
    """UDP and raw sockets reach nobody there; a hypervisor would be reached."""
    family = asked[0]
    wanted = seccomp.ALLOW if family in seccomp.SAFE_FAMILIES else REFUSED
    assert wanted == verdict(CALLS, CALLS.socket, asked, program=seccomp.families_program)
    assert seccomp.ALLOW == verdict(CALLS, 0, asked, program=seccomp.families_program)
    assert seccomp.ALLOW == verdict(CALLS, CALLS.socket, asked, audit=1, program=seccomp.families_program)


KERNEL = """
import errno, json, socket
from truegreen.guards import seccomp
seccomp.restrict()
def opened(*asked):
    try:
        socket.socket(*asked).close()
    except OSError as err:
        return err.errno
    return 0
print(json.dumps([opened(socket.AF_INET, socket.SOCK_STREAM), opened(socket.AF_INET, socket.SOCK_DGRAM),
    opened(socket.AF_UNIX, socket.SOCK_STREAM), opened(socket.AF_INET, socket.SOCK_STREAM, 262)]))
"""


def test_the_kernel_reads_it_the_same_way(elsewhere):
    """Four of the cases, answered by the kernel."""
    if not seccomp.is_known():
        pytest.skip("no numbers for this machine")
    assert [0, errno.EACCES, 0, errno.EACCES] == elsewhere(KERNEL)


def test_a_machine_without_known_numbers_is_refused(monkeypatch):
    """Guessing numbers would filter other calls."""
    monkeypatch.setattr(seccomp, "KNOWN", {})
    assert not seccomp.is_known()
    with pytest.raises(OSError, match="no filter of system calls"):
        seccomp.restrict()
