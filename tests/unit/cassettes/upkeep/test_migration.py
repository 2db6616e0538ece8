# SPDX-License-Identifier: Apache-2.0
"""No release changes a key or a reading silently: recordings of this version are pinned, never rebuilt."""

import tomllib
from pathlib import Path

import msgspec
import pytest

from factories.cassettes import answered, asked, folder, player, recorder
from truegreen.cassettes.cassette_file import answer_of, read_cassette, rules_of, stored_document
from truegreen.cassettes.key import KEY_SCHEMA, key_of
from truegreen.cassettes.plain import plain
from truegreen.cassettes.rebuilt import rebuilt
from truegreen.cassettes.upkeep.listing import seen
from truegreen.cassettes.upkeep.migration import standing, versions
from truegreen.core.canonical import write_json
from truegreen.core.digest import sha256_of
from truegreen.core.recording import Answered

PINNED = Path(__file__).parents[3] / "fixtures" / "cassettes"
ROWS = tomllib.loads((PINNED / "v1.pinned.toml").read_text()) if (PINNED / "v1.pinned.toml").exists() else {}


def reading_of(cassette):
    """Everything that a replay takes out of a recording, as one digest."""
    answers = [
        {
            "status": played.status,
            "headers": [list(pair) for pair in played.headers],
            "pieces": [[round(piece.after_s * 1_000_000), sha256_of(piece.data)] for piece in played.chunks],
        }
        for played in map(answer_of, cassette.responses)
    ]
    return sha256_of(write_json({"request": plain(stored_document(cassette)), "answers": answers}))


def test_the_versions_are_those_of_the_pinned_recordings():
    """Another version needs pinned recordings of its own beside these, which stay."""
    assert ("truegreen/cassette/v1", "truegreen/cassette-key/v1") == versions()
    assert 8 == len(ROWS)
    assert set(ROWS) == {path.name for path in (PINNED / "v1").glob("*.json")}


@pytest.mark.parametrize("name", ROWS)
def test_a_pinned_recording_has_its_key_and_its_reading(name):
    """The file is untouched, its request has the pinned key still, and a replay gives the pinned answer."""
    data = (PINNED / "v1" / name).read_bytes()
    cassette = read_cassette(data, name)
    assert (ROWS[name]["file"], ROWS[name]["key"], ROWS[name]["reading"]) == (
        sha256_of(data), cassette.key, reading_of(cassette),
    )  # fmt: skip
    rules = rules_of(cassette)
    if not cassette.about.redactions:
        assert ROWS[name]["key"] == key_of(rebuilt(stored_document(cassette)), rules)
        assert isinstance(player(PINNED / "v1", rules).play(rebuilt(stored_document(cassette))), Answered)


def test_pinned_recordings_are_current():
    """Nothing of them would be written otherwise."""
    files = {path.name: path.read_bytes() for path in (PINNED / "v1").glob("*.json")}
    assert {"current"} == {one.state for one in standing((one, files[one.file]) for one in seen(files))}


def _kept(path):
    recorder(path).keep(asked(), answered("4"))
    (name,) = folder(path).names()
    return name, folder(path).read(name)


def _state(name, data):
    (one,) = standing((one, data) for one in seen({name: data}))
    return one.state


def test_other_bytes_with_the_same_meaning_would_be_rewritten(tmp_path):
    """Reordered by an editor, say."""
    name, data = _kept(tmp_path)
    other = data.replace(b"  ", b" ")
    assert ("current", "would-be-rewritten") == (_state(name, data), _state(name, other))


def test_a_key_of_another_version_is_told(tmp_path):
    """It would have to be keyed anew, which changes its name."""
    from truegreen.cassettes.cassette_file import sealed, write_cassette

    name, data = _kept(tmp_path)
    made = read_cassette(data, name)
    about = msgspec.structs.replace(made.about, key_schema=KEY_SCHEMA.replace("v1", "v0"))
    other = write_cassette(sealed(msgspec.structs.replace(made, about=about)))
    assert "would-be-keyed-anew" == _state(name, other)


@pytest.mark.parametrize(("cut", "state"), [(50, "cassette-truncated"), (0, "cassette-truncated")])
def test_what_cannot_be_read_keeps_its_code(tmp_path, cut, state):
    """A migration is no repair."""
    name, data = _kept(tmp_path)
    assert state == _state(name, data[:cut])
