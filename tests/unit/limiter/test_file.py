# SPDX-License-Identifier: Apache-2.0
"""Ledgers in files: what the disk refuses, other starts of the machine, replaced files, forks and dead waiters."""

import os
import resource
import subprocess
import sys

import pytest
from backend_kinds import FORK
from msgspec.structs import replace

from truegreen.core.errors import ReachProblem, UsageProblem
from truegreen.limiter import file as module
from truegreen.limiter import file_system, slots
from truegreen.limiter.backend import Key
from truegreen.limiter.boot_clock import BootClock, boot_clock
from truegreen.limiter.file import File, file_name
from truegreen.limiter.limits import MINUTE, SECOND, Limits, checked
from truegreen.limiter.state import Go, Queued, Request
from truegreen.limiter.wake import Bell

KEY = Key()
LIMITS = checked(Limits(calls=5, per_ns=MINUTE, burst=5, in_flight=20))


class Hands:
    """A clock that shows what it is told."""

    def __init__(self, boot="one", now=0):
        """The name of a start and its time."""
        self.boot, self.now = boot, now

    def clock(self):
        """As the backend wants it."""
        return BootClock(boot=self.boot, now_ns=lambda: self.now)


def asked(backend, name, **fields):
    """One ask."""
    return backend.ask(KEY, Request(id=name, **fields))


@pytest.fixture
def opened(tmp_path):
    """Open backends over one folder; all are closed at the end."""
    made = []

    def make(limits=LIMITS, hands=None, **more):
        made.append(File(tmp_path / "ledgers", limits, clock=hands.clock() if hands else None, **more))
        return made[-1]

    yield make
    for backend in made:
        backend.close()


def test_another_start_of_the_machine_keeps_levels_and_refills_nothing(opened):
    """Its clock begins anew: nobody is locked out for the age of the old one, and nobody gets a full bucket."""
    before = opened(hands=Hands("one", 10**15))
    admitted = sum(isinstance(asked(before, f"a{number}", wait_ns=0), Go) for number in range(8))
    hands = Hands("two", 7)
    after = opened(hands=hands)
    admitted += sum(isinstance(asked(after, f"b{number}", wait_ns=0), Go) for number in range(8))
    hands.now += 12 * SECOND
    later = opened(hands=hands)
    assert (5, True) == (admitted, isinstance(asked(later, "c", wait_ns=0), Go))


@pytest.mark.parametrize("steps", [(-3600, 0, 11, -11), (3600, 0, 0, 0)])
def test_a_boot_clock_that_steps_all_the_same_locks_nobody_out(opened, steps):
    """A step ahead is a burst at most; a step back is no time at all."""
    hands = Hands("one", 10**15)
    admitted = 0
    for number, step in enumerate((0, *steps)):
        hands.now = 10**15 + step * SECOND
        backend = opened(hands=hands)
        admitted += sum(isinstance(asked(backend, f"{number}-{again}", wait_ns=0), Go) for again in range(8))
    assert 5 <= admitted <= 10
    hands.now += 12 * SECOND
    assert isinstance(asked(opened(hands=hands), "later", wait_ns=0), Go)


def test_a_removed_file_is_opened_anew_by_all(opened, tmp_path):
    """Two that have it open go on with one state, not with a half each."""
    limits = checked(Limits(in_flight=1))
    one, other = opened(limits), opened(limits)
    asked(one, "a")
    (tmp_path / "ledgers" / file_name(KEY)).unlink()
    assert isinstance(asked(other, "b"), Go)
    assert isinstance(asked(one, "c"), Queued)


def test_a_forked_child_locks_for_itself(opened):
    """A lock of a file that both opened once would exclude neither."""
    backend = opened(checked(Limits(in_flight=1_000)))
    asked(backend, "parent")

    def ask_often():
        for number in range(300):
            asked(backend, f"{os.getpid()}-{number}")

    children = [FORK.Process(target=ask_often) for _ in range(3)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert (901, 901) == (backend.state(KEY).tickets, len(backend.state(KEY).places))


def test_the_place_of_a_waiter_that_died_goes_to_the_next_at_once(opened):
    """Its bell is gone, so nobody waits for its lease."""
    backend, dead, alive = opened(checked(Limits(in_flight=1))), Bell(), Bell()
    asked(backend, "holder")
    asked(backend, "dead", wake=dead.address)
    asked(backend, "alive", wake=alive.address)
    dead.close()
    backend.hand_back(KEY, "holder")
    alive.wait(30)
    assert isinstance(backend.look(KEY, "alive"), Go)
    alive.close()


def test_a_full_disk_is_one_clear_error_and_the_state_before_stands(tmp_path):
    """The write is refused by a limit on file sizes, as it would be by a full disk."""
    program = f"""
import resource, signal
from pathlib import Path
from truegreen.limiter.backend import Key
from truegreen.limiter.file import File
from truegreen.limiter.limits import Limits, checked
from truegreen.limiter.state import Request
backend = File(Path({str(tmp_path)!r}), checked(Limits(in_flight=5)))
backend.ask(Key(), Request(id="a"))
resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
try:
    backend.ask(Key(), Request(id="b"))
except Exception as err:
    print(err)
print([place.id for place in backend.state(Key()).places])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (
        "the disk is full, or a limit on file sizes is reached; the state before stands [limiter-unreachable]\n['a']\n"
        == (ran.stdout.partition("cannot be used: ")[2])
    )
    assert resource.RLIMIT_FSIZE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_file_of_another_user_is_one_clear_error(tmp_path):
    """It names the file, and nothing is retried for ever."""
    File(tmp_path, LIMITS).ask(KEY, Request(id="a"))
    (tmp_path / file_name(KEY)).chmod(0o600)
    tmp_path.chmod(0o755)
    here, there = FORK.Pipe()

    def other():
        os.setuid(65534)
        try:
            File(tmp_path, LIMITS).ask(KEY, Request(id="b"))
        except ReachProblem as err:
            there.send((err.code, err.message))

    for folder in tmp_path.parents:
        if folder.stat().st_uid == 0 and folder.name.startswith("pytest"):
            folder.chmod(0o755)
    child = FORK.Process(target=other)
    child.start()
    child.join(30)
    code, message = here.recv()
    assert "limiter-unreachable" == code
    assert message.endswith("it belongs to another user, or its folder does")


def test_a_network_disk_is_refused(tmp_path, monkeypatch):
    """A lock there would exclude nobody on another machine."""
    monkeypatch.setattr(file_system, "_linux_magic", lambda _: 0x6969)
    with pytest.raises(UsageProblem, match="is on NFS"):
        File(tmp_path, LIMITS)


def test_a_link_is_not_followed(opened, tmp_path):
    """Somebody who can write to the folder could point it anywhere."""
    backend = opened()
    (tmp_path / "ledgers" / file_name(KEY)).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ReachProblem, match="it is a link"):
        asked(backend, "a")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("payload", [b"", b"\x00", b"\x93\xa1x\xa1y\xa1z"])
def test_a_state_of_another_version_is_unreadable(opened, tmp_path, payload):
    """It is whole, and not ours to guess."""
    backend = opened()
    number = os.open(tmp_path / "ledgers" / file_name(KEY), os.O_RDWR | os.O_CREAT)
    slots.write(number, slots.Slot(1, payload))
    os.close(number)
    with pytest.raises(ReachProblem) as found:
        asked(backend, "a")
    assert "limiter-state-unreadable" == found.value.code


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    """A file stands in its way."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ReachProblem) as found:
        File(tmp_path / "file" / "ledgers", LIMITS)
    assert "limiter-unreachable" == found.value.code


def test_a_state_that_grows_too_long_is_refused_whole(opened, monkeypatch):
    """Before a byte of it is written."""
    backend = opened()
    asked(backend, "a")
    monkeypatch.setattr(slots, "MOST", 100)
    with pytest.raises(ReachProblem, match="cannot hold"):
        asked(backend, "b")


def test_the_ledgers_of_a_folder_are_listed_by_name(opened):
    """Those that were used."""
    backend = opened()
    keys = [Key(tenant="b", resource="x"), Key(tenant="a", resource="y")]
    for key in keys:
        backend.ask(key, Request(id="a"))
    (backend._folder / f"empty{module.ENDING}").write_bytes(b"")
    assert tuple(sorted(keys, key=lambda key: key.tenant)) == backend.keys()


def test_a_reading_is_not_written(opened, tmp_path):
    """Looking at a state changes no byte; a file that is only looked at holds nothing."""
    backend = opened()
    backend.state(KEY)
    path = tmp_path / "ledgers" / file_name(KEY)
    assert b"" == path.read_bytes()
    asked(backend, "a")
    before = path.read_bytes()
    backend.state(KEY)
    assert before == path.read_bytes()


def test_times_of_a_real_clock_are_kept_with_its_start(opened):
    """The start is named in the file."""
    backend = opened()
    asked(backend, "a")
    with backend._file(KEY) as file:
        kept = file.kept()
    assert boot_clock().boot == kept.boot
    assert kept == replace(kept, tenant="default", resource="default")
