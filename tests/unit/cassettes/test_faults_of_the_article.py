# SPDX-License-Identifier: Apache-2.0
"""What the article's recorder gets wrong, each beside what ours does.

The article's key is written down here once more: template, version, prompt, temperature and a token limit, cut to 20
digits.
"""

import hashlib
import json

import msgspec
import pytest

from factories.cassettes import RULES, SECRET, answered, asked, folder, player, recorded, recorder, said
from truegreen.cassettes.cassette_file import read_cassette, sealed, write_cassette
from truegreen.cassettes.key import key_of
from truegreen.cassettes.rules import KeyRules
from truegreen.core.errors import EvidenceProblem
from truegreen.core.recording import Miss

CALL = {"template_id": "plan", "template_version": 4, "prompt": "p", "temperature": 0.0, "max_tokens": 512}
BODY = {"model": "m", "messages": [{"role": "user", "content": "p"}], "temperature": 0.0, "max_tokens": 512}
LEFT_OUT = {
    "model": {"model": "other"},
    "tools": {"tools": [{"name": "f"}]},
    "response format": {"response_format": {"type": "json_object"}},
    "stop": {"stop": ["x"]},
    "top_p": {"top_p": 0.5},
    "seed": {"seed": 7},
    "stream flag": {"stream": True},
}


def article_key(call):
    """The key as the article's adapter computes it."""
    blob = json.dumps({"adapter": "3", **call}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(blob.encode()).hexdigest()[:20]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_the_articles_key_leaves_out_moves_ours(name):
    """Its call does not even have a place for it."""
    assert article_key(CALL) == article_key(dict(CALL))
    assert key_of(asked(BODY), RULES) != key_of(asked({**BODY, **LEFT_OUT[name]}), RULES)


def test_the_base_url_moves_our_key():
    """One model name at two endpoints."""
    assert key_of(asked(BODY), RULES) != key_of(asked(BODY), KeyRules(host="other"))


def test_a_key_has_all_its_digits(tmp_path):
    """64 in the file, 12 in its name; two keys that begin alike are told apart by the file."""
    name = recorded(tmp_path, (asked(BODY), answered("4")))
    assert (20, 64 + len("sha256:")) == (
        len(article_key(CALL)),
        len(json.loads((tmp_path / name).read_text())["key"]),
    )


@pytest.mark.parametrize("status", [400, 429, 500])
def test_an_error_is_not_recorded_and_replayed_for_ever(tmp_path, status):
    """Whatever came back is not an answer."""
    with pytest.raises(EvidenceProblem):
        recorder(tmp_path).keep(asked(BODY), answered(status=status))
    assert isinstance(player(tmp_path).play(asked(BODY)), Miss)


def test_a_recording_is_scrubbed(tmp_path):
    """A key in the prompt and in the answer."""
    recorded(tmp_path, (asked({**BODY, "note": SECRET}), answered(SECRET)))
    assert SECRET not in "".join(path.read_text() for path in tmp_path.iterdir())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_half_a_recording_is_a_named_problem(tmp_path, share):
    """No traceback about a missing key or a character."""
    name = recorded(tmp_path, (asked(BODY), answered("4")))
    data = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(data[: int(len(data) * share)])
    miss = player(tmp_path).play(asked(BODY))
    assert ("cassette-truncated", True) == (miss.code, name in miss.message)


def test_the_stored_request_is_compared_with_the_asked_one(tmp_path):
    """A file that answers another request than its own is not played, whoever sealed it."""
    name = recorded(tmp_path, (asked(BODY), answered("4")))
    cassette = read_cassette(folder(tmp_path).read(name), name)
    other = msgspec.structs.replace(cassette.request, body={**cassette.request.body, "model": "cheap"})
    (tmp_path / name).write_bytes(write_cassette(sealed(msgspec.structs.replace(cassette, request=other))))
    assert "cassette-wrong-key" == player(tmp_path).play(asked(BODY)).code


def test_recordings_that_nobody_plays_are_found(tmp_path):
    """After a whole run: file and place of each answer that was left."""
    recorded(
        tmp_path, (asked(BODY), answered("a")), (asked(BODY), answered("b")), (asked({"x": 1}), answered("c"))
    )
    store = player(tmp_path)
    assert "a" == said(store.play(asked(BODY)))
    both, other = sorted(
        folder(tmp_path).names(), key=lambda name: len((tmp_path / name).read_bytes()), reverse=True
    )
    assert {(both, 1), (other, 0)} == set(store.unplayed())
