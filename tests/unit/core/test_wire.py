# SPDX-License-Identifier: Apache-2.0
"""What one exchange says, over the whole product of ends and statuses."""

import itertools

import msgspec
import pytest

from truegreen.core.exchange import Closer, End, Exchange, Usage
from truegreen.core.wire import WireClass, classify, repeated_request_ids

WHOLE = Exchange(
    id=1,
    token="0-1",
    peer_pid=None,
    method="POST",
    path="/v1/chat/completions",
    started_s=0.0,
    first_byte_s=0.1,
    ended_s=0.2,
    request_ended=True,
    status=200,
    end=End.COMPLETE,
    end_detail="",
    closed_first=Closer.NEITHER,
    is_stream=False,
    end_mark=False,
    request_id="r-1",
    response_id="c-1",
    retry_after=None,
    model_asked="m",
    model_served="m",
    system_fingerprint=None,
    finish_reason="stop",
    is_length_stop=False,
    is_refusal=False,
    error_type=None,
    usage=Usage(),
    cache_marks=(),
    unread=None,
    request_sha256="sha256:" + "0" * 64,
    request_bytes=1,
    response_sha256="sha256:" + "0" * 64,
    response_bytes=1,
)


def _reading(**changes):
    reading = classify(msgspec.structs.replace(WHOLE, **changes))
    return reading.kind, reading.reason


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (WireClass.ANSWERED, "complete")),
        ({"status": 429}, (WireClass.TRANSPORT, "status-429")),
        ({"status": 500}, (WireClass.TRANSPORT, "status-500")),
        ({"status": 529}, (WireClass.TRANSPORT, "status-529")),
        ({"status": 499}, (WireClass.REJECTED, "status-499")),
        ({"status": 400}, (WireClass.REJECTED, "status-400")),
        ({"status": 401}, (WireClass.REJECTED, "status-401")),
        ({"status": 404}, (WireClass.REJECTED, "status-404")),
        ({"status": 408}, (WireClass.REJECTED, "status-408")),
        ({"status": 409}, (WireClass.REJECTED, "status-409")),
        ({"status": 307}, (WireClass.REJECTED, "status-307")),
        ({"status": 503, "end": End.CLIENT_CLOSED}, (WireClass.TRANSPORT, "status-503")),
        ({"status": 429, "end": End.TIMEOUT}, (WireClass.TRANSPORT, "status-429")),
        ({"end": End.UPSTREAM_CLOSED}, (WireClass.TRANSPORT, "closed-without-end")),
        ({"end": End.UPSTREAM_CLOSED, "status": None}, (WireClass.TRANSPORT, "closed-before-status")),
        (
            {"end": End.UPSTREAM_CLOSED, "status": None, "request_ended": False},
            (WireClass.UNCLEAR, "closed-on-unfinished-request"),
        ),
        ({"end": End.UPSTREAM_CLOSED, "is_refusal": True}, (WireClass.REFUSAL, "refusal")),
        ({"end": End.UPSTREAM_CLOSED, "is_length_stop": True}, (WireClass.LENGTH, "length-stop")),
        ({"end": End.UPSTREAM_CLOSED, "error_type": "x"}, (WireClass.UNCLEAR, "error-in-stream")),
        ({"end": End.CLIENT_CLOSED}, (WireClass.CLIENT_CLOSED, "client-closed-first")),
        ({"end": End.CLIENT_CLOSED, "status": None}, (WireClass.CLIENT_CLOSED, "client-closed-first")),
        ({"end": End.TIMEOUT}, (WireClass.TIMEOUT, "no-end")),
        ({"end": End.TIMEOUT, "status": None, "first_byte_s": None}, (WireClass.TIMEOUT, "no-first-byte")),
        ({"end": End.REFUSED, "status": None}, (WireClass.TRANSPORT, "connection-refused")),
        ({"end": End.UNREACHABLE, "status": None, "end_detail": "dns"}, (WireClass.TRANSPORT, "dns")),
        ({"end": End.UNREACHABLE, "status": None, "end_detail": "tls"}, (WireClass.UNCLEAR, "tls")),
        ({"end": End.MALFORMED, "status": None, "end_detail": "not-http"}, (WireClass.UNCLEAR, "not-http")),
        ({"end": End.MALFORMED}, (WireClass.UNCLEAR, "malformed")),
        ({"end": End.NOT_FORWARDED, "status": None}, (WireClass.REJECTED, "not-forwarded")),
        ({"unread": "encoding-br"}, (WireClass.UNCLEAR, "encoding-br")),
        ({"error_type": "server_error"}, (WireClass.UNCLEAR, "error-in-answer")),
        ({"is_length_stop": True, "is_refusal": True}, (WireClass.LENGTH, "length-stop")),
        ({"is_refusal": True}, (WireClass.REFUSAL, "refusal")),
    ],
)
def test_each_row_of_the_list(changes, expected):
    """One row for each thing that an exchange can say."""
    assert expected == _reading(**changes)


def test_transport_is_only_what_the_upstream_did():
    """Over every end, status, refusal, length stop and unfinished request: transport needs the upstream's own act."""
    product = itertools.product(
        End,
        (None, 200, 204, 302, 400, 429, 500),
        (False, True),
        (False, True),
        (False, True),
        ("", "dns", "tls"),
    )
    counts = dict.fromkeys(WireClass, 0)
    for end, status, refusal, length, ended, detail in product:
        changes = {"end": end, "status": status, "is_refusal": refusal, "is_length_stop": length}
        kind, _ = _reading(**changes, request_ended=ended, end_detail=detail)
        counts[kind] += 1
        if kind is WireClass.TRANSPORT:
            failed_status = status is not None and (status == 429 or status >= 500)
            cut = end is End.UPSTREAM_CLOSED and ended and not refusal and not length
            no_connection = end is End.REFUSED or (end is End.UNREACHABLE and detail == "dns")
            assert failed_status or cut or no_connection
        if end in (End.CLIENT_CLOSED, End.TIMEOUT) and status not in (429, 500):
            assert kind is not WireClass.TRANSPORT
    assert all(counts.values())


def test_request_ids_repeated_among_answers_are_named():
    """The same id on two answers is one answer served twice; on failures and without id it says nothing."""
    exchanges = [
        msgspec.structs.replace(WHOLE, request_id="a"),
        msgspec.structs.replace(WHOLE, request_id="a"),
        msgspec.structs.replace(WHOLE, request_id="b"),
        msgspec.structs.replace(WHOLE, request_id="b", status=429),
        msgspec.structs.replace(WHOLE, request_id=None),
        msgspec.structs.replace(WHOLE, request_id=None),
        msgspec.structs.replace(WHOLE, request_id="c", status=None),
        msgspec.structs.replace(WHOLE, request_id="c", status=None),
    ]
    assert frozenset({"a"}) == repeated_request_ids(exchanges)
    assert frozenset() == repeated_request_ids([])
