# SPDX-License-Identifier: Apache-2.0
"""Bytes that requests and answers are made of in the observer's tests."""

import json

CHAT = {"model": "asked-1", "messages": [{"role": "user", "content": "list the changes"}]}


def request(path="/chat/completions", *, method="POST", body=None, headers=()):
    """One HTTP/1.1 request with a JSON body."""
    data = json.dumps(CHAT).encode() if body is None else body
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers]
    lines.append(f"Content-Length: {len(data)}")
    return "\r\n".join([*lines, "", ""]).encode() + data


def answer(body=None, *, status="200 OK", headers=(), content_type="application/json"):
    """One HTTP/1.1 response with Content-Length."""
    data = json.dumps(completion()).encode() if body is None else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", *headers, f"Content-Length: {len(data)}"]
    return "\r\n".join([*lines, "", ""]).encode() + data


def completion(content="[]", *, finish="stop", **extra):
    """A chat completion."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served-1",
        "system_fingerprint": "fp_1",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
        ],
        "usage": {
            "prompt_tokens": 7,
            "completion_tokens": 2,
            "total_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
        **extra,
    }


STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nx-request-id: r-1\r\n\r\n"


def piece(content=None, *, finish=None, index=0):
    """One event of a chat stream."""
    delta = {} if content is None else {"content": content}
    return event(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "served-1",
            "choices": [{"index": index, "delta": delta, "finish_reason": finish}],
        }
    )


def event(data):
    """One event whose data is JSON or a plain text."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"data: {text}\n\n".encode()


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST_CHUNK = b"0\r\n\r\n"


def read_response(conn, *, until_close=False) -> bytes:
    """Bytes of one response with Content-Length or chunked framing, or everything up to the close."""
    data = b""
    while until_close or not _is_whole(data):
        piece_ = conn.recv(65536)
        if not piece_:
            break
        data += piece_
    return data


def _is_whole(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    for row in head.split(b"\r\n")[1:]:
        key, _, value = row.partition(b":")
        if key.lower() == b"content-length":
            return len(body) >= int(value)
        if key.lower() == b"transfer-encoding":
            return body.endswith(LAST_CHUNK)
    return False
