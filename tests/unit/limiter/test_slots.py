# SPDX-License-Identifier: Apache-2.0
"""A state is read whole after a write that was torn at any byte."""

import os

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.limiter import slots


@pytest.fixture
def file(tmp_path):
    """An open file without a byte."""
    number = os.open(tmp_path / "state", os.O_RDWR | os.O_CREAT)
    yield number
    os.close(number)


def torn(file, slot, length):
    """The first ``length`` bytes of a write."""
    os.pwrite(file, slots.written(slot)[:length], (slot.number & 1) * slots.SLOT)


def test_a_new_file_holds_nothing(file):
    """And is told apart from one that cannot be read."""
    assert slots.NOTHING == slots.read(file, "state")


@pytest.mark.parametrize("before", [b"x" * 900, b"y" * 20, b""])
def test_a_write_that_is_torn_at_any_byte_leaves_the_state_before(file, before):
    """At every byte of 600, over longer, shorter and empty states that stood there."""
    after = slots.Slot(4, bytes(range(256)) * 2)
    data = slots.written(after)
    for length in range(len(data)):
        slots.write(file, slots.Slot(2, before))
        slots.write(file, slots.Slot(3, b"stands"))
        torn(file, after, length)
        assert slots.Slot(3, b"stands") == slots.read(file, "state")
    torn(file, after, len(data))
    assert after == slots.read(file, "state")


def test_the_first_write_ever_torn_at_any_byte_is_as_if_it_had_not_begun(file):
    """Nobody was told anything yet."""
    first = slots.Slot(1, b"first" * 50)
    for length in range(len(slots.written(first))):
        os.ftruncate(file, 0)
        torn(file, first, length)
        assert slots.NOTHING == slots.read(file, "state")


def test_bytes_in_any_order_never_pass_for_a_state(file):
    """A block of the disk that holds the new end and the old beginning, and the other way round."""
    old, new = slots.Slot(2, b"o" * 300), slots.Slot(4, b"n" * 300)
    first, second = slots.written(old), slots.written(new)
    slots.write(file, slots.Slot(3, b"stands"))
    for cut in range(1, len(first)):
        for mixed in (first[:cut] + second[cut:], second[:cut] + first[cut:]):
            os.pwrite(file, mixed, 0)
            assert slots.read(file, "state").payload in (b"stands", new.payload)


def test_a_state_longer_than_a_page_is_read_whole(file):
    """Up to the length of a slot."""
    long = slots.Slot(1, os.urandom(slots.MOST))
    slots.write(file, long)
    assert long == slots.read(file, "state")


@pytest.mark.parametrize("garbage", [b"{}", b"\n", b"\xff" * 100, b"TGLEDG1\n" + b"\xff" * 60])
def test_a_file_of_something_else_is_unreadable_and_never_new(file, garbage):
    """An empty state would forget who is in flight."""
    os.pwrite(file, garbage, 0)
    with pytest.raises(ReachProblem) as found:
        slots.read(file, "state")
    assert "limiter-state-unreadable" == found.value.code


def test_both_slots_damaged_is_unreadable(file):
    """One damaged slot is not."""
    slots.write(file, slots.Slot(1, b"one"))
    slots.write(file, slots.Slot(2, b"two"))
    os.pwrite(file, b"?", slots.HEAD.size)
    assert b"one" == slots.read(file, "state").payload
    os.pwrite(file, b"?", slots.SLOT + slots.HEAD.size)
    with pytest.raises(ReachProblem):
        slots.read(file, "state")
