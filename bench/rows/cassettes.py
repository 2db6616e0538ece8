# SPDX-License-Identifier: Apache-2.0
"""How long it takes to find the recording of a request, among 1, 100, 1,000 and 5,000.

Interactions are of the size of a chat completion with a page of text. Ours is a play from disk: the request keyed,
its one file opened, read strictly, compared and turned back into bytes. vcrpy's is what its playback does per request
(``in``, then ``play_response``) on a cassette that is loaded already, asked for its last interaction after all others
were played, with its default matchers (which do not look at the body) and with its body matcher beside them.
"""

from __future__ import annotations

import json
import time
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from measuring import NotMeasured, Row

from truegreen.cassettes.folder import Folder
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.store import Recorder, Store
from truegreen.core.recording import Answered, Asked, Chunk

try:
    from vcr.cassette import Cassette
    from vcr.config import VCR
    from vcr.request import Request
except ImportError:  # then the rows say that they were not measured
    VCR = None

SIZES = {1: 60.0, 100: 0.2, 1_000: 0.01, 5_000: 0.001}
"""Recordings in the folder, and the largest ratio to the body matcher that meets the promise."""
PLAYS = 40
"""Plays that one measurement of ours averages."""
RULES = KeyRules(host="api.example.com")
THEN = "2026-01-01T00:00:00Z"
DEFAULT = ("method", "scheme", "host", "port", "path", "query")
TEXT = "It depends on the version that is installed, and on what the change log says about it. " * 12


def rows(folder: Path) -> tuple[Row, ...]:
    """Each size beside the body matcher, the largest beside the default matchers, and the largest beside the smallest."""
    largest, smallest = max(SIZES), min(SIZES)
    return (
        *(
            Row(
                name=f"look-up among {size:,} recordings",
                peer_name="vcrpy with its body matcher",
                ours=partial(_ours, folder, size),
                peer=partial(_vcrpy, size, (*DEFAULT, "body")),
                target=target,
                rounds=5 if size < largest else 3,
            )
            for size, target in SIZES.items()
        ),
        Row(
            name=f"look-up among {largest:,} recordings",
            peer_name="vcrpy with its default matchers",
            ours=partial(_ours, folder, largest),
            peer=partial(_vcrpy, largest, DEFAULT),
            target=0.2,
            rounds=5,
        ),
        Row(
            name=f"look-up among {largest:,} recordings",
            peer_name=f"ours among {smallest}",
            ours=partial(_ours, folder, largest),
            peer=partial(_ours, folder, smallest),
            target=1.5,
            rounds=7,
        ),
    )


def _body(number: int) -> bytes:
    messages = [{"role": "system", "content": TEXT}, {"role": "user", "content": f"{number}: {TEXT}"}]
    return json.dumps({"model": "m", "temperature": 0, "messages": messages}).encode()


def _answer(number: int) -> bytes:
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": f"{number} {TEXT[:600]}"},
    }
    return json.dumps({"id": f"c-{number}", "model": "m", "choices": [choice]}).encode()


def _asked(number: int) -> Asked:
    headers = (("content-type", "application/json"),)
    return Asked(method="POST", path="/v1/chat/completions", headers=headers, body=_body(number))


@lru_cache(maxsize=len(SIZES))
def _folder(above: Path, size: int) -> Folder:
    """A folder with so many recordings, written by the recorder without waiting for the disk."""
    folder = Folder(above / f"recordings-{size}", lambda path, data: path.write_bytes(data) and None)
    store = Store(folder, RULES, Recorder(now=lambda: THEN, since=THEN))
    headers = (("content-type", "application/json"),)
    for number in range(size):
        answered = Answered(status=200, headers=headers, chunks=(Chunk(after_s=0, data=_answer(number)),))
        store.keep(_asked(number), answered)
    return folder


def _ours(above: Path, size: int) -> float:
    """Seconds per play, of requests spread over the folder, the last one among them."""
    store = Store(_folder(above, size), RULES)
    asked = [_asked((size - 1) * (place + 1) // PLAYS) for place in range(PLAYS)]
    took = 0.0
    for one in asked:
        store.rewind()
        began = time.perf_counter()
        found = store.play(one)
        took += time.perf_counter() - began
        if not isinstance(found, Answered):
            raise NotMeasured(f"a recording was not found: {found.message}")
    return took / PLAYS


@lru_cache(maxsize=2 * len(SIZES))
def _cassette(size: int, match_on: tuple[str, ...]) -> Any:
    if VCR is None:
        raise NotMeasured("vcrpy is not installed")
    cassette = Cassette("none", match_on=VCR()._get_matchers(match_on))  # noqa: SLF001 - its own wiring
    for number in range(size):
        response = {
            "status": {"code": 200, "message": "OK"},
            "headers": {},
            "body": {"string": _answer(number)},
        }
        cassette.append(_request(Request, number), response)
    return cassette


def _request(kind: type, number: int) -> object:
    url = "http://api.example.com/v1/chat/completions"
    return kind("POST", url, _body(number), {"Content-Type": "application/json"})


def _vcrpy(size: int, match_on: tuple[str, ...]) -> float:
    """Seconds for the last interaction."""
    cassette = _cassette(size, match_on)
    asked, times = _request(Request, size - 1), 20 if size <= min(SIZES) else 3 if size < max(SIZES) else 1
    took = 0.0
    for _ in range(times):
        cassette.play_counts.update(dict.fromkeys(range(size - 1), 1))
        cassette.play_counts[size - 1] = 0
        began = time.perf_counter()
        is_found = asked in cassette and cassette.play_response(asked)
        took += time.perf_counter() - began
        if not is_found:
            raise NotMeasured("vcrpy did not find its interaction")
    return took / times
