# SPDX-License-Identifier: Apache-2.0
"""Files replaced whole, through kills, full disks and other writers."""

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from truegreen.core.errors import ReachProblem
from truegreen.wiring import atomic
from truegreen.wiring.atomic import write_atomic

OLD, NEW = b"old" * 5, b"new" * 70_000
CALLS = ("open", "stat", "fchmod", "write", "fsync", "close", "replace", "unlink")
DIES = """
import os, signal, sys
from pathlib import Path
from truegreen.wiring import atomic

target, left, before = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "before"

def dying(call):
    def counted(*arguments, **options):
        global left
        left -= 1
        if left < 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        if call is os.write:
            arguments = (arguments[0], arguments[1][:70_000])
        done = call(*arguments, **options)
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
    return counted

class Dying:
    def __getattr__(self, name):
        return dying(getattr(os, name)) if name in CALLS else getattr(os, name)

CALLS = sys.argv[4].split()
atomic.os = Dying()
atomic.write_atomic(target, b"new" * 70_000)
"""


def parts(folder: Path) -> list[Path]:
    """Files that a writer left behind."""
    return list(folder.glob(".truegreen-*.part"))


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_at_any_step_leaves_the_old_bytes_or_the_new(tmp_path, exists, moment):
    """SIGKILL before and after every call to the system, in a real process; three writes make up the file."""
    target = tmp_path / "f"
    seen = []
    for step in range(100):
        target.unlink(missing_ok=True)
        if exists:
            target.write_bytes(OLD)
        asked = [sys.executable, "-c", DIES, str(target), str(step), moment, " ".join(CALLS)]
        done = subprocess.run(asked, check=False)
        seen.append(target.read_bytes() if target.exists() else None)
        if done.returncode == 0:
            break
        assert -signal.SIGKILL == done.returncode
    before = OLD if exists else None
    assert seen == [before] * seen.count(before) + [NEW] * seen.count(NEW)
    assert 9 + exists <= len(seen) < 100
    assert seen.count(NEW) >= 3
    write_atomic(target, OLD)
    assert OLD == target.read_bytes()


def test_a_file_is_made_or_replaced(tmp_path):
    """Nothing else is left in the folder."""
    target = tmp_path / "f"
    for data in (b"", NEW, OLD):
        write_atomic(target, data)
        assert (data, [target]) == (target.read_bytes(), list(tmp_path.iterdir()))


def test_permissions_of_an_existing_file_are_kept(tmp_path):
    """A private file does not become public; a new one follows the umask."""
    target = tmp_path / "f"
    old_mask = os.umask(0o027)
    try:
        write_atomic(target, OLD)
    finally:
        os.umask(old_mask)
    assert 0o640 == stat.S_IMODE(target.stat().st_mode)
    target.chmod(0o700)
    write_atomic(target, NEW)
    assert 0o700 == stat.S_IMODE(target.stat().st_mode)


def test_a_link_is_replaced_not_followed(tmp_path):
    """What it led to keeps its bytes."""
    (tmp_path / "other").write_bytes(OLD)
    (tmp_path / "f").symlink_to("other")
    write_atomic(tmp_path / "f", NEW)
    assert (False, NEW, OLD) == (
        (tmp_path / "f").is_symlink(),
        (tmp_path / "f").read_bytes(),
        (tmp_path / "other").read_bytes(),
    )


@pytest.mark.parametrize("name", ["x" * 255, "\U0001f600" * 63, "a b\nc", "é"])
def test_any_name_that_a_file_can_have_is_written(tmp_path, name):
    """Also one so long that nothing can be added to it."""
    write_atomic(tmp_path / name, NEW)
    assert [tmp_path / name] == list(tmp_path.iterdir())


class Failing:
    """The system with one call that fails once, at its n-th time."""

    def __init__(self, call: str, count: int, number: int) -> None:
        self.call, self.left, self.number = call, count, number

    def __getattr__(self, name):
        real = getattr(os, name)
        if name != self.call:
            return real

        def failing(*arguments, **options):
            self.left -= 1
            if self.left == -1:
                if name == "close":
                    real(*arguments)
                raise OSError(self.number, os.strerror(self.number))
            return real(*arguments, **options)

        return failing


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "disk-full"),
        (errno.EDQUOT, "disk-full"),
        (errno.EFBIG, "disk-full"),
        (errno.EIO, "not-written"),
        (errno.EROFS, "not-written"),
    ],
)
def test_a_failing_call_leaves_whole_bytes_and_no_other_file(tmp_path, monkeypatch, number, code):
    """At every step, with every error that a disk has; only the last two steps come after the change."""
    target = tmp_path / "f"
    before = [
        ("open", 0),
        ("open", 1),
        ("fchmod", 0),
        ("write", 0),
        ("fsync", 0),
        ("close", 0),
        ("replace", 0),
    ]
    after = [("fsync", 1), ("close", 1)]
    for call, count in before + after:
        target.write_bytes(OLD)
        monkeypatch.setattr(atomic, "os", Failing(call, count, number))
        with pytest.raises(ReachProblem) as caught:
            write_atomic(target, NEW)
        monkeypatch.undo()
        stands = OLD if (call, count) in before else NEW
        assert (call, code, stands, [target]) == (
            call,
            caught.value.code,
            target.read_bytes(),
            list(tmp_path.iterdir()),
        )
        assert str(len(NEW)) in caught.value.message


def test_an_interrupt_leaves_no_other_file(tmp_path, monkeypatch):
    """Ctrl-C while the bytes go to the disk."""
    (tmp_path / "f").write_bytes(OLD)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "f", NEW)
    assert (OLD, []) == ((tmp_path / "f").read_bytes(), parts(tmp_path))


def test_a_file_that_outgrows_the_systems_limit_is_a_full_disk(tmp_path):
    """A real limit of the kernel, met in the middle of the write."""
    target = tmp_path / "f"
    target.write_bytes(OLD)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEW) - 1, before[1]))
    try:
        with pytest.raises(ReachProblem, match="disk-full") as caught:
            write_atomic(target, NEW)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "make room" in caught.value.hint
    assert (OLD, [target]) == (target.read_bytes(), list(tmp_path.iterdir()))


@pytest.mark.parametrize(
    ("path", "reason"),
    [("none/f", "No such file"), ("file/f", "Not a directory"), ("folder", "Is a directory")],
)
def test_a_path_that_cannot_be_written_is_said_in_one_line(tmp_path, path, reason):
    """No folder, no folder at all, or a folder where the file should be."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReachProblem, match="not-written") as caught:
        write_atomic(tmp_path / path, NEW)
    assert reason in caught.value.message
    assert [] == parts(tmp_path)


def test_writers_at_once_never_mix(tmp_path):
    """A reader that looks all the time sees one writer's bytes or another's, whole."""
    target = tmp_path / "f"
    texts = [bytes([65 + which]) * (50_000 + which) for which in range(4)]
    write_atomic(target, texts[0])
    torn = []

    def write(text: bytes) -> None:
        for _ in range(15):
            write_atomic(target, text)

    writers = [threading.Thread(target=write, args=(text,)) for text in texts]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        if (data := target.read_bytes()) not in texts:
            torn.append(len(data))
    for writer in writers:
        writer.join()
    assert ([], True, [target]) == (torn, target.read_bytes() in texts, list(tmp_path.iterdir()))


@pytest.mark.parametrize("name", ["pipe", "link-to-pipe"])
def test_a_device_or_a_pipe_is_never_replaced(tmp_path, name):
    """``--decision /dev/stdout`` leaves the machine its standard output, root or not."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link-to-pipe").symlink_to("pipe")
    with pytest.raises(ReachProblem, match=r"is a device or a pipe, a file is asked \[not-written\]"):
        write_atomic(tmp_path / name, NEW)
    assert ["link-to-pipe", "pipe"] == sorted(path.name for path in tmp_path.iterdir())
    assert stat.S_ISFIFO((tmp_path / name).stat().st_mode)
