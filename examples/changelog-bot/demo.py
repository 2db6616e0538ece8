# SPDX-License-Identifier: Apache-2.0
"""Shows what the gate says of seven pull requests, on this machine: no account, key or network.

    ./dev demo [--swap ID ID] [--only ID ...] [--out FOLDER]
    ./dev demo --replay [--out FOLDER]

A real repository with an origin, a fake model endpoint, sampling in the checkout that a forge would make, and the
gate as CI runs it: it sees zips and a bare clone, nothing else. Exit 1 if a decision is not the expected one.
With --replay, two pull requests to a lane that plays recorded answers and calls nobody.
"""

import argparse
import dataclasses
import os
import re
import shutil
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from stand_in.authors import Repository
from stand_in.endpoints import Endpoints
from stand_in.forge import PullRequest
from stand_in.replay import ReplayLane
from stand_in.runner import Decided, Sampled, gate, model_tests
from stand_in.stories import STORIES, Expected, Step, Story

ROOT = Path(__file__).parents[2]
WIDTH = 110
AT_ONCE = 4
"""Pull requests whose model tests run at the same time; much of that time is spent waiting."""
AT_A_GLANCE = 2
"""Cases that do not pass of which a ledger in short shows each."""
_IS_CASE = re.compile(r" *\d+/\d+  ")
_IS_DETAIL = re.compile(r" {10}")
_PASSES = "  passes: "


class Demo:
    """The stories over one repository."""

    def __init__(self, work: Path, out: Path, endpoints: Endpoints, pool: ThreadPoolExecutor) -> None:
        self._work = work
        self._out = out
        self._endpoints = endpoints
        self._pool = pool
        self._repository = Repository(work / "forge")
        self.wrong: list[str] = []
        """Ids of steps in which the gate said something else than was expected."""

    def tell(self, stories: list[Story]) -> None:
        """Open every pull request at once; then tell one after another, while model tests go on behind."""
        opened = [self._opened(number, story) for number, story in enumerate(stories, start=1)]
        for story, (request, sampled) in zip(stories, opened, strict=True):
            first, *further = story.steps
            _say(f"Pull request {request.number}", first.told)
            self._decided(first, request, sampled.result())
            for step in further:
                _say("", step.told)
                self._decided(step, request, self._went_on(story, step, request))

    def _opened(self, number: int, story: Story) -> tuple[PullRequest, Future[Sampled]]:
        request = PullRequest(number=number, branch=f"change-{number}")
        return request, self._pool.submit(self._pushed(story, story.steps[0], request))

    def _pushed(self, story: Story, step: Step, request: PullRequest) -> Callable[[], Sampled]:
        """The author pushes; returns what the forge's runner then does."""
        assert step.push is not None
        parent = request.heads[-1] if request.heads else self._repository.main
        head = self._repository.commit(request.branch, parent, step.push, step.told)
        self._repository.test_merge(request.number, head)
        request.pushed(head, self._repository.main)
        url = self._endpoints.url(story.scenario)
        folder = self._work / step.id
        folder.mkdir()
        return partial(model_tests, self._repository, request, url, folder, cancel=story.is_cancelled)

    def _went_on(self, story: Story, step: Step, request: PullRequest) -> Sampled | None:
        """A further step: a push with its model tests, a change of main with the gate alone, or another title."""
        if step.push is not None:
            return self._pushed(story, step, request)()
        if step.on_main is not None:
            self._repository.commit_to_main(step.on_main, step.told)
            request.runs[-1].gate_again()
        else:
            request.retitled()
        return None

    def _decided(self, step: Step, request: PullRequest, sampled: Sampled | None) -> None:
        """Show the ledger, run the gate, show and check what it says."""
        if sampled is not None:
            ledger = _in_short(sampled.said, whole=request.number == 1)
            _quote(f"$ truegreen sample    exit {sampled.code}", ledger)
        out = self._out / step.id
        out.mkdir(parents=True)
        if sampled is not None:
            shutil.copy(sampled.log, out / "sample.log")
        made = gate(self._repository, request, out)
        _quote(f"$ truegreen gate      exit {made.code}", made.line or made.said)
        if _found(made) != step.expected:
            self.wrong.append(step.id)
            print(f"    NOT AS EXPECTED: {_words(_found(made))}, expected {_words(step.expected)}\n")


def chosen(swap: list[str], only: list[str]) -> list[Story]:
    """The stories that are told; a swap exchanges scenarios, and the expected decisions with them.

    A swapped story ends after its first step: what comes after depends on what was measured.
    """
    stories = list(STORIES)
    if swap:
        first, second = (_story_of(stories, one) for one in swap)
        stories[first], stories[second] = (
            _with(stories[first], stories[second]),
            _with(stories[second], stories[first]),
        )
    asked = {_story_of(stories, one) for one in only}
    return [story for number, story in enumerate(stories) if not only or number in asked]


def _with(story: Story, other: Story) -> Story:
    step = dataclasses.replace(story.steps[0], expected=other.steps[0].expected)
    return dataclasses.replace(story, scenario=other.scenario, steps=(step,))


def _story_of(stories: list[Story], step_id: str) -> int:
    ids = [[step.id for step in story.steps] for story in stories]
    for number, known in enumerate(ids):
        if step_id in known:
            return number
    every = ", ".join(one for known in ids for one in known)
    raise SystemExit(f"demo: no step is called {step_id}, known are {every}")


def _found(made: Decided) -> Expected:
    return Expected(word=made.word, code=made.reason, exit=made.code)


def _words(one: Expected) -> str:
    return f"{one.word or 'no decision'} {one.code} with exit {one.exit}".replace("  ", " ")


def _say(title: str, told: str) -> None:
    if title:
        print(f"── {title} {'─' * (WIDTH - len(title) - 4)}")
    print(textwrap.fill(told, WIDTH, initial_indent="  ", subsequent_indent="  "), end="\n\n", flush=True)


def _quote(command: str, said: str) -> None:
    print(f"    {command}")
    print(textwrap.indent(said.rstrip(), "    "), end="\n\n", flush=True)


def _in_short(said: str, *, whole: bool) -> str:
    """The ledger as ``truegreen sample`` prints it; unless all is asked, without most of what reads alike."""
    blocks: list[list[str]] = []
    for line in said.splitlines():
        if _IS_DETAIL.match(line):
            blocks[-1].append(line)
        else:
            blocks.append([line])
    passing = [block for block in blocks if _PASSES in block[0]]
    others = [block for block in blocks if _IS_CASE.match(block[0]) and block not in passing]
    rest = [block for block in blocks if block not in passing and block not in others]
    shown = [*others, *passing] if whole else others[:AT_A_GLANCE]
    lines = [line for block in shown for line in block]
    if not whole:
        lines += _counted(len(others) - AT_A_GLANCE, "reads alike", "read alike")
        lines += _counted(len(passing), "passes", "pass")
    return "\n".join([*lines, *(block[0] for block in rest)])


def _counted(number: int, one: str, many: str) -> list[str]:
    if number < 1:
        return []
    return [f"     …  1 case {one}" if number == 1 else f"     …  {number} cases {many}"]


def _where_to_look(out: Path, ids: list[str]) -> None:
    truegreen = Path(sys.executable).with_name("truegreen")
    shown = os.path.relpath(truegreen) if truegreen.is_relative_to(Path.cwd()) else truegreen
    folder = os.path.relpath(out) if out.is_relative_to(Path.cwd()) else out
    example = next((one for one in ("broken", "flaky") if one in ids), ids[0])
    print(f"Everything is left in {folder}, a folder for each decision: the zips, the run index, the event,")
    print("the clone, the decision, and the summary that the pull request would show. Look closer:\n")
    print(f"    {shown} why {folder}/{example}/decision.json")
    print(f"    {shown} gate --replay {folder}/{example}/bundle.json\n")


def replayed(out: Path) -> int:
    """Record once, replay two pull requests; 1 if a decision is not the expected one."""
    with tempfile.TemporaryDirectory(prefix="truegreen-demo-") as work, Endpoints() as endpoints:
        lane = ReplayLane(Path(work).resolve(), endpoints.url("steady"))
        _say("Once, by hand", "The bot's answers are recorded against the model, committed and reviewed.")
        _quote(f"$ {lane.recorded.command}    exit {lane.recorded.code}", _last(lane.recorded.said, 1))
        wrong = []
        for number, step in enumerate(lane.steps(out), start=1):
            _say(f"Pull request {number}", step.told)
            for shown, lines in zip(step.shown, (2, 4, 1), strict=True):
                said = shown.said.partition("\n")[0] if "gate" in shown.command else _last(shown.said, lines)
                _quote(f"$ {shown.command}    exit {shown.code}", said)
            if step.found != step.expected:
                wrong.append(step.id)
                print(f"    NOT AS EXPECTED: {' '.join(step.found)}, expected {' '.join(step.expected)}\n")
    said = f"not as expected: {', '.join(wrong)}" if wrong else "each as expected"
    print(f"2 decisions, {said}")
    return 1 if wrong else 0


def _last(said: str, lines: int) -> str:
    """The end of what a command printed, without its last hint at a path of this machine."""
    kept = [line for line in said.splitlines() if line.strip() and not line.startswith("record: ")]
    return "\n".join(kept[-lines:])


def main() -> int:
    """Tell the stories; 1 if a decision is not the expected one."""
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--swap", nargs=2, metavar="ID", default=[], help="exchange how the model behaves in two stories"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="ID", default=[], help="tell the stories of these steps alone"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "demo-out", help="where evidence is left")
    parser.add_argument("--replay", action="store_true", help="show the lane that replays, and nothing else")
    asked = parser.parse_args()
    # A shell that starts this in the background ignores interrupts, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    stories = chosen(asked.swap, asked.only)
    out = asked.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    if asked.replay:
        return replayed(out)
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="truegreen-demo-") as work,
        Endpoints() as endpoints,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        demo = Demo(Path(work).resolve(), out, endpoints, pool)
        demo.tell(stories)
    ids = [step.id for story in stories for step in story.steps]
    _where_to_look(out, ids)
    said = f"not as expected: {', '.join(demo.wrong)}" if demo.wrong else "each as expected"
    print(f"{len(ids)} decisions in {time.monotonic() - began:.0f} s, {said}")
    return 1 if demo.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
