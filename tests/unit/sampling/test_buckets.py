# SPDX-License-Identifier: Apache-2.0
"""How a sample ended and what the wire saw, row by row."""

import msgspec
import pytest
from exchange_kit import exchange

from truegreen.core.exchange import Closer, End, Usage
from truegreen.sampling.buckets import DETAIL_CHARS, bucket_of, sample_of, shortened
from truegreen.sampling.engines.messages import STATUSES, Ended

LOST = exchange(status=503)
LIMITED = exchange(status=429)
CUT = exchange(is_length_stop=True, finish_reason="length")
REFUSED = exchange(is_refusal=True, finish_reason="content_filter")
HUNG_UP = exchange(end=End.CLIENT_CLOSED, closed_first=Closer.CLIENT)
UNREADABLE = exchange(unread="encoding-br")
KEY_REFUSED = exchange(status=401)
WHOLE = exchange()
ASSERTION = ("builtins.AssertionError", "builtins.Exception")
CONNECTION = ("openai.APIConnectionError", "openai.APIError", "builtins.Exception")
OWN = ("app.AppError", "builtins.Exception")


def _ended(status, raised=(), reason="", **more):
    return Ended(index=0, n=1, draw=1, status=status, raised=raised, reason=reason, **more)


def _in_order(*seen):
    return [msgspec.structs.replace(one, id=place, ended_s=float(place)) for place, one in enumerate(seen)]


@pytest.mark.parametrize(
    ("ended", "seen", "expected"),
    [
        (_ended("passed"), [WHOLE], ("pass", "")),
        (_ended("passed"), [], ("pass", "")),
        (_ended("passed"), [LOST, WHOLE], ("pass", "")),
        (_ended("passed"), [CUT], ("invalid", "length-stop")),
        (_ended("failed", ASSERTION), [WHOLE], ("fail", "assertion")),
        (_ended("failed", OWN), [WHOLE], ("fail", "exception")),
        (_ended("failed", ASSERTION, "not-listed"), [WHOLE], ("fail", "not-listed")),
        (_ended("failed", ASSERTION), [CUT], ("invalid", "length-stop")),
        (_ended("failed", ASSERTION), [REFUSED], ("fail", "refusal")),
        (_ended("failed", OWN), [LOST], ("transport", "status-503")),
        (_ended("failed", ASSERTION), [WHOLE, LIMITED], ("transport", "status-429")),
        (_ended("failed", OWN), [LIMITED, WHOLE], ("fail", "exception")),
        (_ended("failed", CONNECTION), [WHOLE], ("fail", "exception")),
        (_ended("failed", CONNECTION), [], ("claimed-transport", "connection-error")),
        (_ended("failed", OWN), [], ("fail", "exception")),
        (_ended("failed", (*ASSERTION, *CONNECTION)), [], ("fail", "assertion")),
        (_ended("failed", CONNECTION), [HUNG_UP], ("fail", "time-limit")),
        (_ended("failed", ASSERTION), [HUNG_UP], ("fail", "assertion")),
        (_ended("failed", OWN), [UNREADABLE], ("invalid", "encoding-br")),
        (_ended("failed", ASSERTION), [UNREADABLE], ("fail", "assertion")),
        (_ended("failed", OWN), [KEY_REFUSED], ("invalid", "status-401")),
        (_ended("failed", OWN), [exchange(status=404)], ("fail", "exception")),
        (_ended("setup-error", OWN), [], ("invalid", "setup-error")),
        (_ended("setup-error", OWN), [WHOLE], ("invalid", "setup-error")),
        (_ended("setup-error", OWN), [LOST], ("transport", "status-503")),
        (_ended("setup-error", CONNECTION), [], ("claimed-transport", "connection-error")),
        (_ended("teardown-error", OWN), [WHOLE], ("invalid", "teardown-error")),
        (_ended("skipped"), [], ("invalid", "skipped")),
        (_ended("xfail"), [WHOLE], ("invalid", "xfail")),
        (_ended("crashed", (), "signal-11"), [LOST], ("invalid", "signal-11")),
        (_ended("left-early"), [], ("invalid", "left-early")),
        (_ended("rerun", ASSERTION), [WHOLE], ("fail", "rerun")),
        (_ended("unfinished", OWN, "finish-reason-unknown"), [WHOLE], ("invalid", "finish-reason-unknown")),
        (_ended("time-limit"), [], ("invalid", "time-limit-before-request")),
        (_ended("time-limit"), [HUNG_UP], ("fail", "time-limit")),
        (_ended("time-limit"), [WHOLE], ("fail", "time-limit")),
        (_ended("time-limit"), [LIMITED, LOST], ("transport", "status-503")),
        (_ended("time-limit"), [LOST, HUNG_UP], ("fail", "time-limit")),
        (_ended("time-limit"), [KEY_REFUSED, KEY_REFUSED], ("invalid", "status-401")),
        (_ended("time-limit"), [KEY_REFUSED, WHOLE], ("fail", "time-limit")),
    ],
)
def test_each_row_of_the_table(ended, seen, expected):
    """The last exchange by its end counts, whatever order they are told in."""
    for told in (_in_order(*seen), _in_order(*seen)[::-1]):
        assert expected == bucket_of(ended, told, truncated="invalid", asks_elsewhere=False)


def test_every_status_has_a_bucket():
    """With and without anything on the wire."""
    for status in STATUSES:
        for seen in ([], [WHOLE], [LOST]):
            bucket, reason = bucket_of(_ended(status), seen, truncated="invalid", asks_elsewhere=False)
            assert (bucket == "pass") == (reason == "")


def test_a_cut_answer_fails_where_the_lane_says_so():
    """``truncated = "fail"``."""
    for status in ("passed", "failed", "time-limit"):
        ended = _ended(status, ASSERTION if status == "failed" else ())
        assert ("fail", "length-stop") == bucket_of(ended, [CUT], truncated="fail", asks_elsewhere=False)


def test_a_pass_without_a_call_is_none_where_other_samples_asked():
    """An answer out of the code's own cache is a copy of an earlier one."""
    assert ("invalid", "no-call") == bucket_of(_ended("passed"), [], truncated="invalid", asks_elsewhere=True)
    assert ("pass", "") == bucket_of(_ended("passed"), [WHOLE], truncated="invalid", asks_elsewhere=True)


def test_a_sample_holds_what_the_wire_said():
    """Ids of answers, cache use and marks, and how many calls there were."""
    seen = [
        msgspec.structs.replace(LOST, request_id="lost"),
        msgspec.structs.replace(
            WHOLE, request_id="a", usage=Usage(cached_tokens=3), cache_marks=("x-cache: HIT",)
        ),
        msgspec.structs.replace(WHOLE, request_id="a", usage=Usage(cached_tokens=4)),
    ]
    made = sample_of(
        _ended("failed", ASSERTION, detail="got sk-1", output_sha256="sha256:" + "0" * 64, duration_ms=7),
        _in_order(*seen),
        truncated="invalid",
        asks_elsewhere=False,
        hide=lambda text: text.replace("sk-1", "[hidden]"),
    )
    assert ("fail", "assertion", "got [hidden]") == (made.bucket, made.reason, made.detail)
    assert (3, ("a", "a"), 7) == (made.calls, made.request_ids, made.cached_tokens)
    assert (("x-cache: HIT",), 7, "sha256:" + "0" * 64) == (made.marks, made.duration_ms, made.output_sha256)


def test_secrets_are_hidden_before_a_text_is_cut():
    """A secret across the cut would show its first half."""
    text = "x" * (DETAIL_CHARS - 10) + "secret-secret-secret"
    made = sample_of(
        _ended("failed", ASSERTION, detail=text),
        [],
        truncated="invalid",
        asks_elsewhere=False,
        hide=lambda given: given.replace("secret-secret-secret", "[S]"),
    )
    assert made.detail.endswith("[S]")
    assert DETAIL_CHARS == len(shortened("y" * 1000))
    assert "" == shortened(" \n")


def test_a_pass_tells_no_text():
    """What a passing test printed is nobody's business."""
    made = sample_of(_ended("passed", detail="x"), [], truncated="invalid", asks_elsewhere=False, hide=str)
    assert "" == made.detail
