# SPDX-License-Identifier: Apache-2.0
"""Several endpoints behind one wire."""

import urllib.request

import pytest

from truegreen.wiring.model_environment import Upstream
from truegreen.wiring.wires import APART, Wires


@pytest.fixture
def wires(fake_endpoint):
    """Two names for one endpoint, observed apart."""
    upstreams = [
        Upstream(url=fake_endpoint.url, names=("MODEL_BASE_URL", "OPENAI_BASE_URL")),
        Upstream(url=fake_endpoint.url, names=("ANTHROPIC_BASE_URL",)),
    ]
    with Wires(upstreams, forward_sample=False) as started:
        yield started


def _ask(address):
    urllib.request.urlopen(address + "/models", timeout=10).read()


def test_each_name_has_its_endpoint_s_observer(wires):
    """With a sample's token or without."""
    addresses = wires.addresses("0-1")
    assert {"MODEL_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"} == set(addresses)
    assert addresses["MODEL_BASE_URL"] == addresses["OPENAI_BASE_URL"] != addresses["ANTHROPIC_BASE_URL"]
    assert addresses["MODEL_BASE_URL"].endswith("/s/0-1")
    assert wires.addresses(None)["MODEL_BASE_URL"] == addresses["MODEL_BASE_URL"].removesuffix("/s/0-1")


def test_exchanges_of_all_are_one_list_without_a_number_twice(wires):
    """And each sample finds its own in all of them."""
    for name in ("MODEL_BASE_URL", "ANTHROPIC_BASE_URL"):
        _ask(wires.addresses("0-1")[name])
    _ask(wires.addresses("0-2")["MODEL_BASE_URL"])
    assert [1, 1 + APART] == [exchange.id for exchange in wires.settle({"0-1"}, (), 5.0)]
    assert (0, 3, 3) == (wires.drain(), wires.count(), len({exchange.id for exchange in wires.exchanges()}))


def test_texts_name_the_endpoint_and_not_the_observer(wires, fake_endpoint):
    """Ports that differ from run to run stay out of the ledger; one host is named once."""
    host = fake_endpoint.url.removeprefix("http://").removesuffix("/v1")
    told = wires.told(
        f"at {wires.addresses('3.2-1')['MODEL_BASE_URL']}/chat and {wires.addresses(None)['OPENAI_BASE_URL']}"
    )
    assert f"at http://{host}/chat and http://{host}" == told
    assert host == wires.host
