# SPDX-License-Identifier: Apache-2.0
"""The page of the HTTP API is compared with a real service: every answer, field, status and address on it."""

import json
import re
from pathlib import Path

import pytest

from simulators.limiter_service import running
from truegreen.limiter.http import wire
from truegreen.limiter.http.app import STATUS_OF

PAGE = (Path(__file__).parents[2] / "docs" / "http-api.md").read_text(encoding="utf-8")
EXCHANGE = re.compile(
    r"`(GET|POST) (/[\w/-]+)`\n\n(?:```json\n(.*?)```\n\n)?`([0-9]{3})`\n\n```json\n(.*?)```", re.DOTALL
)
MEASURED = {"waited_s", "wait_s", "held_s", "for_s", "ends_in_s", "waited_ns", "most_waited_ns", "version"}
"""Values that are another number each time."""
SECONDS = re.compile(r"\d+\.\d{3} s")


def _plain(value):
    if isinstance(value, dict):
        return {name: type(it) if name in MEASURED else _plain(it) for name, it in value.items()}
    if isinstance(value, list):
        return [_plain(it) for it in value]
    return SECONDS.sub("… s", value) if isinstance(value, str) else value


def test_a_real_service_answers_as_the_page_says():
    """One exchange after another, in the order of the page."""
    exchanges = EXCHANGE.findall(PAGE)
    assert 12 == len(exchanges)
    with running({"calls": 10, "burst": 5, "in_flight": 2}) as service:
        for method, path, request, status, answer in exchanges:
            body = json.loads(request) if request else None
            got = service.ask(method, path, body)
            assert (path, int(status), _plain(json.loads(answer))) == (path, got[0], _plain(got[2]))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (wire.ACQUIRE, wire.Acquire),
        (wire.LOOK, wire.Look),
        (wire.HEARTBEAT, wire.Heartbeat),
        (wire.RELEASE, wire.Release),
        (wire.HOLD_OFF, wire.HoldOff),
    ],
)
def test_every_field_has_its_row(path, kind):
    """Under the heading of its address, and no other."""
    section = PAGE.partition(f"## POST {path}\n")[2].partition("\n## ")[0]
    assert set(kind.__struct_fields__) == set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def test_every_error_has_its_row_with_its_status():
    """As the service maps them; nothing else is promised."""
    rows = re.findall(r"^\| ([0-9]{3}) \| `([a-z-]+)` \|", PAGE, re.MULTILINE)
    assert {code: int(status) for code, status in STATUS_OF.items()} == {code: int(it) for it, code in rows}


def test_every_address_has_its_heading():
    """And every heading its address."""
    with running({"in_flight": 1}) as service:
        routes = service.routes
    named = set(re.findall(r"^## (GET|POST) (\S+)$", PAGE, re.MULTILINE))
    assert routes == named
