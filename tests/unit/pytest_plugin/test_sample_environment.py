# SPDX-License-Identifier: Apache-2.0
"""Many samples in one process, each with its own address."""

import asyncio
import os

import pytest

from truegreen.pytest_plugin import sample_environment
from truegreen.pytest_plugin.async_host import in_thread


@pytest.fixture
def _installed():
    before = os.environ.__class__
    sample_environment.install()
    sample_environment.install()
    yield
    os.environ.__class__ = before


@pytest.mark.usefixtures("_installed")
def test_tasks_and_their_threads_find_their_own_values(monkeypatch):
    """Whoever asks outside of a sample finds the process's."""
    monkeypatch.setenv("ADDRESS", "process")

    async def sample(name):
        sample_environment.enter({"ADDRESS": name})
        await asyncio.sleep(0)
        by_thread = await in_thread(
            lambda: (os.environ["ADDRESS"], os.getenv("ADDRESS"), "ADDRESS" in os.environ)
        )
        return os.environ.get("ADDRESS"), by_thread, os.environ["PATH"]

    async def both():
        return await asyncio.gather(sample("one"), sample("two"))

    one, two = asyncio.run(both())
    assert ("one", ("one", "one", True), os.environ["PATH"]) == one
    assert ("two", ("two", "two", True), os.environ["PATH"]) == two
    assert "process" == os.environ["ADDRESS"]


@pytest.mark.usefixtures("_installed")
def test_names_that_exist_for_samples_alone_are_absent_elsewhere():
    """And a missing name is still missing."""

    async def sample():
        sample_environment.enter({"ONLY_HERE": "1"})
        return os.environ.get("ONLY_HERE"), os.environ.get("NOWHERE")

    assert ("1", None) == asyncio.run(sample())
    with pytest.raises(KeyError):
        os.environ["ONLY_HERE"]
