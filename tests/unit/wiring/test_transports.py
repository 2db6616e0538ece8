# SPDX-License-Identifier: Apache-2.0
"""Transports with files, as a program makes them."""

import asyncio

import httpx2
import pytest

from truegreen.core.errors import UsageProblem
from truegreen.wiring.transports import async_transport, transport

URL = "https://api.example.test/v1"


def _inner(_request):
    return httpx2.Response(200, json={"id": "1"})


def _post(made):
    with httpx2.Client(transport=made) as client:
        return client.post(f"{URL}/chat/completions", json={"model": "m"})


def test_a_recording_of_one_is_played_by_both(tmp_path):
    """The folder is all that they share."""
    recorder = transport("record", URL, cassettes=tmp_path, inner=httpx2.MockTransport(_inner))
    assert {"id": "1"} == _post(recorder).json()
    assert 1 == recorder.tally().kept
    assert {"id": "1"} == _post(transport("replay", URL, cassettes=tmp_path)).json()

    async def ask():
        made = async_transport("replay", URL, cassettes=tmp_path)
        async with httpx2.AsyncClient(transport=made) as client:
            return (await client.post(f"{URL}/chat/completions", json={"model": "m"})).json()

    assert {"id": "1"} == asyncio.run(ask())


def test_another_alias_misses(tmp_path):
    """An answer of one endpoint is none of another."""
    _post(transport("record", URL, cassettes=tmp_path, inner=httpx2.MockTransport(_inner)))
    other = transport("replay", URL, cassettes=tmp_path, alias="other")
    assert (424, True) == (_post(other).status_code, other.tally().is_red)


def test_nothing_records_in_ci(tmp_path, monkeypatch):
    """Evidence comes from committed bytes."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(UsageProblem) as caught:
        transport("record", URL, cassettes=tmp_path)
    assert "recording-in-ci" == caught.value.code


def test_an_unknown_mode_is_refused():
    """``once`` and ``new_episodes`` are no modes here."""
    with pytest.raises(UsageProblem) as caught:
        transport("once", URL)
    assert "bad-mode" == caught.value.code
    with pytest.raises(UsageProblem):
        async_transport("new_episodes", URL)


def test_live_needs_no_folder():
    """It passes on."""
    assert {"id": "1"} == _post(transport("live", URL, inner=httpx2.MockTransport(_inner))).json()
