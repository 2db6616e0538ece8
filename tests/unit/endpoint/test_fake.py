# SPDX-License-Identifier: Apache-2.0
"""The endpoint as tests use it, and its one promise: same prompt and number, same answer."""

import json
import random
import socket
import threading

import openai
import pytest

from truegreen.core.errors import ReachProblem
from truegreen.endpoint.fake import FakeEndpoint
from truegreen.endpoint.scenario import Allowance, Fault, Latency, Rule, Scenario
from truegreen.endpoint.service import Service

RULE = Rule(
    id="r",
    answer="good",
    fails=("bad", "worse"),
    pass_rate=0.6,
    refuse_rate=0.1,
    truncate_rate=0.1,
    latency=Latency(law="exponential", ms=2, fail_factor=3),
    faults=(Fault(kind="status", status=429, share=0.2), Fault(kind="status", status=503, first=1)),
)
SCENARIO = Scenario(seed="s", rules=(RULE,))


def _said(body):
    choice = json.loads(body)["choices"][0]
    return choice["finish_reason"], choice["message"]["content"], choice["message"]["refusal"]


def _answers(endpoint, client, numbers, workers):
    """What each sample number gets, asked by so many clients at once, each retrying until it is answered."""
    found, todo = {}, list(numbers)

    def work():
        conn = client(endpoint)
        while todo:
            try:
                number = todo.pop()
            except IndexError:
                return
            status = 0
            while status != 200:
                conn.ask(sample=number)
                status, body = conn.read()
            found[number] = _said(body)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_order_and_concurrency_change_no_answer(serve, client):
    """One client in order, and 32 clients in any order with retries of 429 and 503, get the same answers."""
    numbers = list(range(1, 121))
    alone = _answers(serve(SCENARIO), client, numbers, 1)
    shuffled = numbers.copy()
    random.Random(7).shuffle(shuffled)
    together = serve(SCENARIO)
    assert alone == _answers(together, client, shuffled, 32)
    assert 4 <= len(set(alone.values()))
    counts = together.oracle()
    assert {200, 429, 503} == {int(status) for status in counts.statuses}
    assert 120 == counts.statuses["200"]
    assert set(map(str, numbers)) == set(counts.outcomes())


def test_dozens_of_calls_are_in_flight_at_once(serve, client):
    """The 32 that wait are all counted before the first is answered."""
    endpoint = serve(latency=Latency(ms=400))
    conns = [client(endpoint) for _ in range(32)]
    for number, conn in enumerate(conns):
        conn.ask(sample=number)
    assert {200} == {conn.read()[0] for conn in conns}
    assert 32 == endpoint.oracle().in_flight_peak
    while endpoint.oracle().in_flight:
        pass


def test_it_listens_on_loopback_only(serve):
    """On a port of the system's choice."""
    endpoint = serve()
    assert [("127.0.0.1", endpoint.port)] == [s.getsockname() for s in endpoint._server.sockets]
    assert f"http://127.0.0.1:{endpoint.port}/v1" == endpoint.url


def test_a_port_that_is_taken_is_said():
    """With the way out."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ReachProblem) as caught:
            FakeEndpoint(SCENARIO, port=port).start()
    assert ("port-taken", True) == (caught.value.code, str(port) in caught.value.message)


def test_it_stops_in_the_middle_of_everything(client):
    """Hanging clients see the end, the port is free, a second stop is harmless."""
    endpoint = FakeEndpoint(
        Scenario(seed="s", rules=(Rule(id="r", answer="a", latency=Latency(ms=60_000)),))
    ).start()
    conn = client(endpoint)
    conn.ask()
    while not endpoint.oracle().in_flight:
        pass
    endpoint.stop()
    endpoint.stop()
    assert b"" == conn.rest()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", endpoint.port), timeout=5)


def test_an_error_inside_is_not_lost(client, monkeypatch):
    """A bug of the endpoint is not taken for a fault of the scenario."""
    monkeypatch.setattr(Service, "answer", lambda *_: 1 / 0)
    endpoint = FakeEndpoint(SCENARIO).start()
    conn = client(endpoint)
    conn.ask()
    assert b"" == conn.rest()
    with pytest.raises(ReachProblem) as caught:
        endpoint.stop()
    assert "endpoint-failed" == caught.value.code


def test_it_is_a_context_manager_of_a_file(tmp_path):
    """As the demo starts it."""
    path = tmp_path / "s.toml"
    path.write_text('schema = "truegreen/scenario/v1"\nseed = "s"\n[[rules]]\nid = "r"\nanswer = "yes"\n')
    with FakeEndpoint.from_file(path) as endpoint:
        assert 0 == endpoint.oracle().calls


def test_an_sdk_that_retries_is_counted(serve):
    """Its three attempts are one request, and the two retries say so."""
    endpoint = serve(
        faults=(Fault(kind="status", status=429, first=2, retry_in_s=0.001, retry_as="milliseconds"),)
    )
    with openai.OpenAI(base_url=endpoint.url, api_key="none", max_retries=2) as sdk:
        sdk.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], extra_headers={"x-truegreen-sample": "1"}
        )
    counts = endpoint.oracle()
    assert (3, 1, 2, 2, 3) == (
        counts.calls, counts.requests, counts.retries, counts.told_retries, counts.attempts_most,
    )  # fmt: skip
    assert [0, 1, 2] == [call.told_retry for call in counts.kept]


def test_two_layers_that_retry_multiply_and_it_shows(serve):
    """Three attempts of a program around an SDK's three are nine attempts at one request."""
    endpoint = serve(
        faults=(Fault(kind="status", status=429, first=99, retry_in_s=0.001, retry_as="milliseconds"),)
    )
    with openai.OpenAI(base_url=endpoint.url, api_key="none", max_retries=2) as sdk:
        for _ in range(3):
            with pytest.raises(openai.RateLimitError):
                sdk.chat.completions.create(
                    model="m",
                    messages=[{"role": "user", "content": "x"}],
                    extra_headers={"x-truegreen-sample": "1"},
                )
    counts = endpoint.oracle()
    assert (9, 1, 9, 8, 6) == (
        counts.calls, counts.requests, counts.attempts_most, counts.retries, counts.told_retries,
    )  # fmt: skip


def test_a_call_that_its_client_gave_up_is_tried_again(serve, client):
    """A hang that the client leaves is an attempt without answer, and its place in flight comes back."""
    fault = Fault(kind="hang", first=1)
    scenario = Scenario(
        seed="s", rules=(Rule(id="r", answer="a", faults=(fault,)),), allowance=Allowance(in_flight=1)
    )
    endpoint = serve(scenario)
    hung = client(endpoint)
    hung.ask(sample=1)
    while not endpoint.oracle().in_flight:
        pass
    other = client(endpoint)
    other.ask(sample=2)
    assert 429 == other.read()[0]
    hung.sock.close()
    while endpoint.oracle().in_flight:
        pass
    other.ask(sample=1)
    assert 200 == other.read()[0]
    counts = endpoint.oracle()
    assert (1, 2, 1, {"in-flight": 1}) == (
        counts.retries,
        counts.attempts_most,
        counts.taken_peak,
        counts.refused,
    )
