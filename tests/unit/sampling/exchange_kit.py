# SPDX-License-Identifier: Apache-2.0
"""Exchanges for the tests of this folder."""

from truegreen.core.exchange import Closer, End, Exchange, Usage


def exchange(**changes):
    """A whole answer, but for what is changed."""
    fields = {
        "id": 1,
        "token": "0-1",
        "peer_pid": None,
        "method": "POST",
        "path": "/v1/chat/completions",
        "started_s": 0.0,
        "first_byte_s": 0.1,
        "ended_s": 0.2,
        "request_ended": True,
        "status": 200,
        "end": End.COMPLETE,
        "end_detail": "",
        "closed_first": Closer.NEITHER,
        "is_stream": False,
        "end_mark": False,
        "request_id": None,
        "response_id": None,
        "retry_after": None,
        "model_asked": "asked",
        "model_served": "served",
        "system_fingerprint": None,
        "finish_reason": "stop",
        "is_length_stop": False,
        "is_refusal": False,
        "error_type": None,
        "usage": Usage(),
        "cache_marks": (),
        "unread": None,
        "request_sha256": "sha256:" + "0" * 64,
        "request_bytes": 1,
        "response_sha256": "sha256:" + "0" * 64,
        "response_bytes": 1,
    }
    return Exchange(**{**fields, **changes})
