# SPDX-License-Identifier: Apache-2.0
"""A folder of recordings checked offline, in the order of triage."""

import base64
import json
import textwrap
from types import SimpleNamespace

import pytest

from truegreen.cassettes.check import CODES, checked, is_recording
from truegreen.wiring.rehearsal import replays

SECRET = "sk-proj-0aB1cD2eF3gH4iJ5kL6mN7oP"


@pytest.fixture
def folder(tmp_path):
    """A folder with these exchanges; without any, with one that keeps its contract."""

    def made(*exchanges, **files):
        found = replays.recordings(
            tmp_path / "recorded", exchanges or ((replays.request(), replays.answer()),)
        )
        return found | {name.replace("__", "/").replace("_dot_", "."): data for name, data in files.items()}

    return made


def codes(files):
    """(code, weight) of every finding."""
    return [(one.code, one.weight) for one in checked(files).findings]


def only(files):
    """The only recording's name."""
    (name,) = [name for name in files if is_recording(name)]
    return name


def test_a_good_folder_has_no_finding(folder):
    """And says what it holds."""
    found = checked(folder())
    (recording,) = found.recordings
    assert ((), frozenset()) == (found.findings, found.weights)
    assert ("labels", "1", replays.MODEL, replays.MODEL, 1) == (
        recording.template,
        recording.template_version,
        recording.model_asked,
        recording.model_served,
        recording.answers,
    )


def test_a_folder_without_anything_is_unknown():
    """Nothing to check is not fine."""
    assert [("contracts-unreadable", "unknown"), ("no-recordings", "unknown")] == codes({})


def test_a_template_without_a_recording_is_missing(folder):
    """A contract asks for at least one answer of its version."""
    files = {name: data for name, data in folder().items() if not is_recording(name)}
    assert [("recording-missing", "fails"), ("no-recordings", "unknown")] == codes(files)


def test_an_answer_that_breaks_its_contract_is_named(folder):
    """With file, place, template and owner."""
    files = folder((replays.request(), replays.answer('{"label": "maybe"}')))
    (found,) = checked(files).findings
    assert ("contract-broken", "fails", only(files), "answer 1: label", "labels", "@owner") == (
        found.code,
        found.weight,
        found.file,
        found.place,
        found.template,
        found.owner,
    )


def test_a_cut_answer_breaks_its_contract(folder):
    """Its end is not its own."""
    assert [("contract-broken", "fails")] == codes(
        folder((replays.request(), replays.answer(finish="length")))
    )


def test_another_template_version_is_stale(folder):
    """Older or newer; and then the asked version is missing as well."""
    for version in ("0", "2"):
        files = folder((replays.request(version=version), replays.answer()))
        assert {("recording-missing", "fails"), ("template-stale", "fails")} == set(codes(files))


def test_another_model_than_the_contracts_fails(folder):
    """A change of the model is a change of the contract."""
    files = folder((replays.request(model="other-2026-01-01"), replays.answer()))
    assert [("model-differs", "fails")] == codes(files)


def test_a_template_that_nobody_knows_is_unknown(folder):
    """No contract judges it."""
    files = folder()
    text = files["contracts.toml"].replace(b"template.labels", b"template.others")
    assert [("recording-missing", "fails"), ("template-unnamed", "unknown")] == codes(
        {**files, "contracts.toml": text}
    )


def test_the_default_contract_judges_what_names_no_template(folder):
    """Any version, and nothing is missing where nobody records."""
    files = folder()
    text = files["contracts.toml"].replace(b"template.labels", b"template.default")
    plain = replays.request()
    bare = type(plain)(method=plain.method, path=plain.path, body=plain.body)
    unnamed = folder((bare, replays.answer()))
    assert ("template-unnamed", "unknown") in codes(unnamed)
    assert [] == codes({**unnamed, "contracts.toml": text} if len(unnamed) == 3 else _one(unnamed, text))


def _one(files, contracts):
    """Only the recording that names no template."""
    kept = {
        name: data for name, data in files.items() if not is_recording(name) or b'"template": null' in data
    }
    return {**kept, "contracts.toml": contracts}


@pytest.mark.parametrize("cut", [0, 1, 200])
def test_a_truncated_recording_is_unknown(folder, cut):
    """Whatever is left of it says nothing."""
    files = folder()
    name = only(files)
    assert ("recording-truncated", "unknown") in codes({**files, name: files[name][:cut]})


def test_a_hand_edited_recording_fails(folder):
    """Its digest is no longer its own."""
    files = folder()
    name = only(files)
    assert ("recording-edited", "fails") in codes({**files, name: files[name].replace(b"is it?", b"was it")})


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"a": 1, "a": 2}', ("recording-edited", "fails")),
        (b"uri: !!python/object/apply:os.getcwd []", ("recording-edited", "fails")),
        (b"plain text", ("recording-unreadable", "unknown")),
        (b"[]", ("recording-unreadable", "unknown")),
        (b"\xff\xfe", ("recording-unreadable", "unknown")),
        (None, ("recording-unreadable", "unknown")),
    ],
)
def test_what_is_no_recording_is_said(folder, data, code):
    """A name twice and a YAML tag contradict; anything else is unreadable; a link is no file."""
    assert code in codes(folder() | {"zz.json": data})


@pytest.mark.parametrize(
    "data",
    [
        json.dumps({"request": {"headers": {"authorization": "Bearer sk-made-up-0123456789"}}}).encode(),
        json.dumps({"headers": {"Set-Cookie": "session=abc"}}).encode(),
        json.dumps({"headers": [["set-cookie", "session=abc"]]}).encode(),
        b'{"x": "\\u0073k-proj-0aB1cD2eF3gH4iJ5kL6mN7oP"}',
        json.dumps({"x": {"$text": [SECRET[:12], SECRET[12:]]}}).encode(),
        json.dumps(
            {"base64": textwrap.wrap(base64.b64encode(f"a {SECRET} b".encode()).decode(), 16)}
        ).encode(),
        json.dumps({SECRET: 1}).encode(),
        SECRET.encode(),
    ],
)
@pytest.mark.parametrize("name", ["zz.json", "notes.txt", "deep/er.json"])
def test_a_secret_in_any_file_is_found_and_never_shown(folder, name, data):
    """By shape, by the header's name, and behind escapes."""
    found = checked(folder() | {name: data})
    assert ("recording-secret", "fails") in [
        (one.code, one.weight) for one in found.findings if one.file == name
    ]
    assert [] == [one for one in found.findings if "made-up" in str(one) or SECRET in str(one)]


def test_what_was_redacted_is_no_secret(folder):
    """A stand-in in a header's place is what the recorder leaves."""
    data = json.dumps({"headers": {"authorization": "[redacted: bearer-token]", "cookie": ""}}).encode()
    assert [] == codes(folder() | {"deep/er.json": data})


def test_a_seal_is_not_searched(folder):
    """Its Base64 is a signature's."""
    assert [] == codes(folder() | {"seals/one.dsse.json": SECRET.encode()})


def test_loose_contracts_and_floating_models_are_notes(folder):
    """They are told and weigh nothing."""
    files = folder()
    files["contracts/labels.json"] = b'{"type": "object", "required": ["label"]}'
    files["contracts.toml"] = files["contracts.toml"].replace(replays.MODEL.encode(), b"model-latest")
    found = codes(files)
    assert [("model-differs", "fails"), ("contract-loose", "note"), ("model-floating", "note")] == found


def test_many_recordings_of_a_template_are_a_note(folder):
    """An unbounded prompt explodes what anybody would review."""
    exchanges = tuple((replays.request(f"is it {n}?"), replays.answer()) for n in range(3))
    files = folder(*exchanges)
    files["contracts.toml"] += b"most = 2\n"
    assert [("recordings-many", "note")] == codes(files)


def test_findings_stand_in_the_order_of_triage(folder):
    """Missing first, notes last."""
    files = folder((replays.request(), replays.answer("no json")))
    files |= {"zz.json": b"", "contracts/labels.json": b"{}"}
    places = [CODES.index(code) for code, _ in codes(files)]
    assert sorted(places) == places


def test_an_error_that_was_recorded_on_purpose_has_no_contract(folder, tmp_path):
    """No contract speaks of a 429."""
    from truegreen.cassettes.folder import Folder
    from truegreen.cassettes.rules import KeyRules
    from truegreen.cassettes.store import Recorder, Store
    from truegreen.core.recording import Answered
    from truegreen.wiring.atomic import write_atomic

    files = {name: data for name, data in folder().items() if not is_recording(name)}
    made = Folder(tmp_path / "errors", write_atomic)
    now = "2026-01-01T10:00:00Z"
    store = Store(made, KeyRules(host="models"), Recorder(now=lambda: now, since=now, keeps_errors=True))
    store.keep(replays.request(), Answered(status=429))
    (name,) = made.names()
    assert [] == codes({**files, name: made.read(name)})


def test_a_body_that_cannot_be_decoded_is_unknown(folder, monkeypatch):
    """Without the library for its coding nobody can say whether it keeps its contract."""
    files = folder()
    unknown = SimpleNamespace(codings=lambda headers: ("br",), decoded=lambda body, applied: None)
    monkeypatch.setattr("truegreen.cassettes.check.coding", unknown)
    assert [("recording-unreadable", "unknown")] == codes(files)
