# SPDX-License-Identifier: Apache-2.0
"""Cassettes that the real vcrpy wrote, and ones that it would not write."""

import http.server
import json
import threading

import pytest
import requests
import vcr as real_vcr

from truegreen.cassettes.foreign.taken import Left, Taken
from truegreen.cassettes.foreign.vcr import entries
from truegreen.core.errors import EvidenceProblem

ENTRY = """interactions:
- request: {body: '{"model": "m"}', headers: {Content-Type: [application/json]}, method: POST, uri: 'https://h/v1/x'}
  response: {body: {string: %s}, headers: {}, status: {code: 200, message: OK}}
version: 1
"""


class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with what it got."""

    def do_POST(self):
        """Once."""
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Silent."""


@pytest.fixture
def url():
    """A server that echoes."""
    server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("serializer", ["yaml", "json"])
def test_what_vcrpy_recorded_is_read_back(url, tmp_path, serializer):
    """Text with any characters; in YAML bytes too."""
    bodies = [
        '{"model": "m", "text": "ä\\n"}'.encode(),
        b"plain",
        *([b"\xff\x00\x01"] if serializer == "yaml" else []),
    ]
    path = tmp_path / "c"
    with real_vcr.use_cassette(str(path), serializer=serializer, record_mode="all"):
        for body in bodies:
            requests.post(f"{url}/v1/x?a=b", data=body, timeout=10)
    found = list(entries(path.read_bytes(), "c"))
    assert [(body, body, 200, "/v1/x", "a=b") for body in bodies] == [
        (one.asked.body, one.answered.body, one.answered.status, one.asked.path, one.asked.query)
        for one in found
    ]
    assert all(one.recorded_at is None and one.losses for one in found)


@pytest.mark.parametrize(
    "tag",
    [
        "!!python/object/apply:os.getcwd []",
        "!!python/name:os.system x",
        "!local x",
        "!!python/object/new:_io.BytesIO {}",
    ],
)
def test_a_tag_that_could_run_code_is_refused_before_anything_is_built(tag):
    """As evidence that speaks against itself, not as a file that is somehow odd."""
    with pytest.raises(EvidenceProblem) as caught:
        list(entries((ENTRY % tag).encode(), "c"))
    assert ("yaml-tag", True) == (caught.value.code, caught.value.contradictory)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{",
        b"interactions: x\nversion: 1",
        b"interactions: []",
        b"interactions: []\nversion: 2",
        b"\xff",
        b"a: *b",
    ],
)
def test_what_is_no_cassette_is_refused_whole(data):
    """No half of it is taken."""
    with pytest.raises(EvidenceProblem) as caught:
        list(entries(data, "c"))
    assert "foreign-unreadable" == caught.value.code


def test_entries_that_are_none_are_left_with_their_place():
    """The others are taken."""
    text = ENTRY % "ok" + ""
    broken = text.replace("version: 1", "- 3\n- request: {}\n  response: {}\n- request: x\nversion: 1")
    kinds = [type(one) for one in entries(broken.encode(), "c")]
    assert [Taken, Left, Left, Left] == kinds
    assert "c, interaction 2" == list(entries(broken.encode(), "c"))[1].where


@pytest.mark.parametrize(
    ("string", "expected"), [("null", b""), ("ok", b"ok"), ("!!binary /wA=", b"\xff\x00")]
)
def test_bodies_are_text_bytes_or_nothing(string, expected):
    """As vcrpy writes them."""
    (one,) = entries((ENTRY % string).encode(), "c")
    assert expected == one.answered.body


@pytest.mark.parametrize("string", ["3", "[a]", "{x: y}"])
def test_a_body_of_another_type_is_left(string):
    """It would be guessed otherwise."""
    (one,) = entries((ENTRY % string).encode(), "c")
    assert isinstance(one, Left)


def test_bytes_as_base64_are_bytes():
    """The JSON form's spelling; a text that is none is left."""
    for text, expected in (("/wA=", b"\xff\x00"), ("%", None)):
        document = {
            "version": 1,
            "interactions": [
                {
                    "request": {"method": "GET", "uri": "https://h/x", "body": None, "headers": {}},
                    "response": {"status": {"code": 200}, "headers": {}, "body": {"base64_string": text}},
                }
            ],
        }
        (one,) = entries(json.dumps(document).encode(), "c")
        assert expected == (one.answered.body if isinstance(one, Taken) else None)


def test_a_file_above_the_limit_is_not_parsed(monkeypatch):
    """Before a parser sees it."""
    monkeypatch.setattr("truegreen.cassettes.foreign.vcr.MAX_BYTES", 10)
    with pytest.raises(EvidenceProblem, match="at most 10"):
        list(entries((ENTRY % "ok").encode(), "c"))


def test_yaml_that_begins_as_json_is_yaml():
    """In flow style."""
    assert [] == list(entries(b"{interactions: [], version: 1}", "c"))
