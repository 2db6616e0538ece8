# SPDX-License-Identifier: Apache-2.0
"""Which reply a request gets."""

import json
import re

import msgspec
import pytest

from truegreen.endpoint.scenario import Allowance, Fault, Match, PrefixCache, ResponseCache, Rule, Scenario
from truegreen.endpoint.service import Request, Service

CHAT = "/v1/chat/completions"


def _request(*, path=CHAT, method="POST", sample=None, prompt="x", model="m", **more):
    body = {"model": model, "messages": [{"role": "user", "content": prompt}], **more}
    headers = {} if sample is None else {"x-truegreen-sample": sample}
    return Request(method=method, path=path, headers=headers, body=json.dumps(body).encode())


def _service(*rules, **options):
    return Service(Scenario(**{"seed": "s", "rules": rules or (Rule(id="r", answer="yes"),)} | options))


def _parts(reply):
    data = b"".join(step.data for step in reply.steps)
    head, _, body = data.partition(b"\r\n\r\n")
    return head.decode(), body


def _json(reply):
    return json.loads(_parts(reply)[1])


FLAKY = Rule(id="flaky", answer="good", fails=("bad",), pass_rate=0.5)


def test_one_sample_has_one_answer():
    """By header, by path, streamed or not: the same prompt and number give the same text."""
    for number in map(str, range(20)):
        replies = [
            _service(FLAKY).answer(_request(sample=number)),
            _service(FLAKY).answer(_request(path=f"/s/7-{number}/v1/chat/completions")),
            _service(FLAKY).answer(_request(path=f"/s/{number}/chat/completions")),
        ]
        assert 1 == len({_json(reply)["choices"][0]["message"]["content"] for reply in replies})
        streamed = _parts(_service(FLAKY).answer(_request(sample=number, stream=True)))[1].decode()
        text = "".join(re.findall(r'"content": "([^"]*)"', streamed))
        assert _json(replies[0])["choices"][0]["message"]["content"] == text


def test_the_header_outranks_the_path():
    """A forwarder that knows the number is believed."""
    service = _service(FLAKY)
    service.answer(_request(path="/s/0-5/v1/chat/completions", sample="9"))
    assert ["9"] == [call.sample for call in service.oracle.counts().kept]


def test_calls_without_number_are_numbered_as_they_arrive():
    """Each prompt on its own, so that its n-th answer is that of sample n."""
    service = _service(FLAKY)
    unnamed = [_json(service.answer(_request()))["choices"][0]["message"]["content"] for _ in range(30)]
    named = [
        _json(_service(FLAKY).answer(_request(sample=str(n))))["choices"][0]["message"]["content"]
        for n in range(1, 31)
    ]
    assert named == unnamed
    service.answer(_request(prompt="other"))
    assert "1" == service.oracle.counts().kept[-1].sample


@pytest.mark.parametrize("named", ["", "a b", "é", "x" * 81, "1/2"])
def test_a_number_of_other_characters_is_refused(named):
    """It could not come from a token."""
    assert 400 == _service().answer(_request(sample=named)).status


def test_a_retry_of_a_sample_gets_its_answer_and_a_new_id():
    """After its 429s, the same outcome as without them."""
    rule = Rule(
        id="r", answer="good", fails=("bad",), pass_rate=0.5,
        faults=(Fault(kind="status", status=429, first=2, retry_after="0"),),
    )  # fmt: skip
    service = _service(rule)
    replies = [service.answer(_request(sample="3")) for _ in range(4)]
    assert [429, 429, 200, 200] == [reply.status for reply in replies]
    assert _json(replies[2])["choices"] == _json(replies[3])["choices"]
    assert _json(_service(FLAKY).answer(_request(sample="3")))["choices"] == _json(replies[3])["choices"]
    ids = [re.search("x-request-id: (.*)", _parts(reply)[0]).group(1) for reply in replies]
    assert 4 == len(set(ids))
    assert [None, None, "fail" if "bad" in str(_json(replies[3])) else "pass"] == [
        call.outcome for call in service.oracle.counts().kept[:3]
    ]


def test_the_same_requests_give_the_same_bytes():
    """Two endpoints of one scenario cannot be told apart."""
    requests = [_request(sample=str(n), stream=n % 2 == 0, n=1 + n % 3) for n in range(20)]
    one, other = _service(FLAKY), _service(FLAKY)
    assert [_parts(one.answer(r)) for r in requests] == [_parts(other.answer(r)) for r in requests]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"pass_rate": 0, "refuse_rate": 1}, ("stop", None, "I can't help with that.")),
        ({"pass_rate": 0, "truncate_rate": 1}, ("length", "ye", None)),
        ({}, ("stop", "yess", None)),
        ({"pass_rate": 0, "fails": ("no",)}, ("stop", "no", None)),
    ],
)
def test_each_outcome_has_its_form(rule, expected):
    """Refusals have no content, length stops half of it."""
    choice = _json(_service(Rule(id="r", **{"answer": "yess"} | rule)).answer(_request()))["choices"][0]
    assert expected == (choice["finish_reason"], choice["message"]["content"], choice["message"]["refusal"])


def test_the_model_that_answers_may_be_another():
    """The rule's, else the scenario's, else the one that was asked."""
    rule = Rule(id="r", when=Match(contains="x"), answer="a", served="rule-1")
    rest = Rule(id="rest", answer="a")
    served = [
        _json(_service(rule, rest, **options).answer(_request(prompt=prompt)))["model"]
        for prompt, options in [("x", {"served": "all-1"}), ("y", {"served": "all-1"}), ("y", {})]
    ]
    assert ["rule-1", "all-1", "m"] == served


def test_a_response_cache_gives_itself_away_or_does_not():
    """Its mark, its repeated ids and its one answer; a silent one that renews ids repeats only the body's id."""
    loud = _service(Rule(id="r", answer="a", response_cache=ResponseCache(share=1)))
    heads = [_parts(loud.answer(_request(sample=str(n))))[0] for n in range(3)]
    assert 1 == len(set(heads))
    assert "\r\nX-Cache: HIT\r\n" in heads[0]
    quiet = _service(
        Rule(id="r", answer="a", response_cache=ResponseCache(share=1, header="", repeats_request_id=False))
    )
    replies = [quiet.answer(_request(sample=str(n))) for n in range(3)]
    assert 3 == len({_parts(reply)[0] for reply in replies})
    assert "X-Cache" not in _parts(replies[0])[0]
    assert 1 == len({_json(reply)["id"] for reply in replies})


def test_warm_prompts_say_so():
    """In usage, as the provider does."""
    service = _service(Rule(id="r", answer="a", prefix_cache=PrefixCache(tokens=2)))
    usage = _json(service.answer(_request(prompt="x" * 40)))["usage"]
    assert {"cached_tokens": 2} == usage["prompt_tokens_details"]


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (_request(model="other"), 404, "model_not_found"),
        (_request(prompt="unmatched"), 400, "no_rule"),
        (_request(method="GET"), 405, None),
        (_request(path="/v1/responses", method="GET"), 405, None),
        (_request(path="/v1/answers", method="GET"), 404, "unknown_url"),
        (_request(path="/v1/models", method="DELETE"), 405, None),
        (_request(path="/v1/models/none", method="GET"), 404, "unknown_url"),
        (_request(path="/", method="GET"), 404, "unknown_url"),
    ],
)
def test_errors_are_openais(request_, status, code):
    """With a code where OpenAI has one."""
    service = _service(Rule(id="r", when=Match(contains="x"), answer="a"), models=("m",))
    request_ = Request(
        method=request_.method,
        path=request_.path,
        headers={},
        body=request_.body.replace(b"unmatched", b"q"),
    )
    reply = service.answer(request_)
    assert (status, code) == (reply.status, _json(reply)["error"]["code"])
    assert 0 == service.oracle.counts().calls


def test_errors_of_no_route_have_the_form_that_the_client_speaks():
    """Who names a version of the messages API gets its errors, whatever the path."""
    asked = Request(method="GET", path="/v1/nothing", headers={"anthropic-version": "2023-06-01"}, body=b"")
    told = _json(_service().answer(asked))
    assert ("error", "not_found_error") == (told["type"], told["error"]["type"])


def test_models_are_listed():
    """Under both spellings of the base URL, and one by one."""
    service = _service(models=("a", "b"))
    for path in ("/v1/models", "/models"):
        assert ["a", "b"] == [
            m["id"] for m in _json(service.answer(_request(path=path, method="GET")))["data"]
        ]
    assert "b" == _json(service.answer(_request(path="/v1/models/b", method="GET")))["id"]


def test_the_oracle_tells_what_it_counted():
    """Under its own path, with every call that it kept."""
    service = _service(FLAKY)
    service.answer(_request(sample="1"))
    told = _json(service.answer(_request(path="/_oracle", method="GET")))
    assert (1, {"200": 1}, True, "flaky", "1") == (
        told["calls"],
        told["statuses"],
        told["kept_all"],
        told["kept"][0]["rule"],
        told["kept"][0]["sample"],
    )


class Clock:
    """Nanoseconds that a test moves."""

    now = 0

    def __call__(self):
        """Where it stands."""
        return self.now


def test_the_endpoints_own_rate_refuses_with_the_wait():
    """Above it 429 in OpenAI's form; what it refuses is no sample, so that answers stay what they are."""
    clock = Clock()
    scenario = Scenario(seed="s", rules=(FLAKY,), allowance=Allowance(per_s=2, burst=2))
    service, free = Service(scenario, clock_ns=clock), _service(FLAKY)
    replies = []
    for step in (0, 0, 0, 400_000_000, 100_000_000, 0):
        clock.now += step
        replies.append(service.answer(_request()))
        service.ended(replies[-1], is_sent=True)
    assert [200, 200, 429, 429, 200, 429] == [reply.status for reply in replies]
    assert "\r\nRetry-After: 1\r\n" in _parts(replies[2])[0]
    assert "rate_limit_exceeded" == _json(replies[2])["error"]["code"]
    answered = [_json(reply)["choices"] for reply in replies if reply.status == 200]
    assert [_json(free.answer(_request()))["choices"] for _ in range(3)] == answered
    counts = service.oracle.counts()
    assert ({"rate": 3}, 3, 6) == (counts.refused, counts.too_many_requests, counts.calls)
    assert ["", "rate"] == [counts.kept[2].sample, counts.kept[2].refused_by]


def test_the_endpoints_own_capacity_is_of_calls_under_way():
    """The third of two is refused until one of them has been sent."""
    service = _service(FLAKY, allowance=Allowance(in_flight=2, retry_as="none"))
    first, _, third = (service.answer(_request(sample=n)) for n in "123")
    assert (429, False) == (third.status, "Retry-After" in _parts(third)[0])
    service.ended(third, is_sent=True)
    again = service.answer(_request(sample="3"))
    service.ended(again, is_sent=True)
    service.ended(first, is_sent=True)
    assert [429, 200] == [again.status, service.answer(_request(sample="3")).status]
    counts = service.oracle.counts()
    assert ({"in-flight": 2}, 2, 3) == (counts.refused, counts.taken_peak, counts.in_flight_peak)
    assert [1, 1, 1, 2, 3] == [call.attempt for call in counts.kept]


@pytest.mark.parametrize(
    ("told", "expected"), [("0", 0), ("2", 2), ("x", None), ("-1", None), ("٢", None), ("", None)]
)
def test_what_a_client_says_of_its_retries_is_read(told, expected):
    """A count, or nothing."""
    service = _service()
    service.answer(msgspec.structs.replace(_request(), headers={"x-stainless-retry-count": told}))
    assert expected == service.oracle.counts().kept[0].told_retry


@pytest.mark.parametrize(
    ("fault", "header"),
    [
        ({"retry_after": "Fri, 31 Dec 1999 23:59:59 GMT"}, "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT"),
        ({"retry_in_s": 1.2}, "Retry-After: 2"),
        ({"retry_in_s": 1.2, "retry_as": "milliseconds"}, "retry-after-ms: 1200"),
        ({"should_retry": "false"}, "x-should-retry: false"),
    ],
)
def test_a_fault_tells_its_wait_in_each_form(fault, header):
    """As it is written, or made of seconds."""
    service = _service(Rule(id="r", answer="a", faults=(Fault(kind="status", status=429, first=1, **fault),)))
    assert f"\r\n{header}\r\n" in _parts(service.answer(_request()))[0]
