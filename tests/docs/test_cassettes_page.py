# SPDX-License-Identifier: Apache-2.0
"""The page about recordings: its digest, its rules and its file are true."""

import hashlib
import json
import re
from pathlib import Path

from factories.cassettes import HOST, asked
from truegreen.cassettes.cassette_file import read_cassette
from truegreen.cassettes.key import key_of
from truegreen.cassettes.rules import KeyRules
from truegreen.cassettes.rules_file import KEYS, extended

PAGE = (Path(__file__).parents[2] / "docs" / "cassettes.md").read_text(encoding="utf-8")
BYTES = (
    b'{"body":{"messages":[{"content":"What is 2+2?","role":"user"}],"model":"m","temperature":{"$number":"0.0"}},'
    b'"body_form":{"kind":"json"},"headers":{},"host":"api.example.com","method":"POST",'
    b'"path":"/v1/chat/completions","query":{},"schema":"truegreen/cassette-key/v1","stream":false,'
    b'"template":{"id":"sums","version":"4"}}'
)
"""The canonical bytes of the page's example, written by hand."""


def test_the_worked_digest_is_that_of_the_bytes_on_the_page():
    """By hand, by the page, by the product, and in the file that the page shows."""
    digits = hashlib.sha256(BYTES).hexdigest()
    (shown,) = re.findall(r"\$ printf '%s' '(.*)' \| sha256sum\n([0-9a-f]{64})  -", PAGE)
    assert (BYTES.decode(), digits) == shown
    body = re.search(r"```json\n(.*)\n```", PAGE)[1]
    headers = [
        ("x-truegreen-template", "sums"),
        ("x-truegreen-template-version", "4"),
        ("authorization", "Bearer x"),
    ]
    assert f"sha256:{digits}" == key_of(asked(body.encode(), headers=headers), KeyRules(host=HOST))
    file = re.search(r"\$ cat cassettes/(\w+\.json)\n(.*?\n)```", PAGE, re.DOTALL)
    cassette = read_cassette(file[2].encode(), file[1])
    assert (f"sha256:{digits}", f"{digits[:12]}.json") == (cassette.key, file[1])
    assert json.loads(file[2])["request"]["body"]["temperature"] == {"$number": "0.0"}


def test_the_rules_on_the_page_are_all_that_there_are():
    """And can be read."""
    text = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1]
    assert set(KEYS) == set(re.findall(r"^(\w+) =", text, re.MULTILINE))
    assert ("body.messages[*].at",) == extended(KeyRules(host=HOST), text.encode()).volatile
