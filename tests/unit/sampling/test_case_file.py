# SPDX-License-Identifier: Apache-2.0
"""Case files as people write them: what is read, and what is refused with file and line."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truegreen.core.errors import ReachProblem, TruegreenProblem, UsageProblem
from truegreen.sampling.case_file import read_case_file

ARTICLE = """\
# tests/model/cases/summarize_changelog.yaml
id: summarize_changelog
input: fixtures/changelog.txt
expect:
  format: json
  required_keys: [breaking, added, removed]
  max_items_per_key: 5
  forbid_substrings: ["I cannot", "As an AI"]
  max_output_chars: 1200
"""
PLAIN = "id: a\ninput: in.txt\nexpect: {format: json}\n"


@pytest.fixture
def root(tmp_path):
    """A repository with an input beside the cases and one at the root."""
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures" / "changelog.txt").write_text("1.0\n", encoding="utf-8")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "in.txt").write_text("x\n", encoding="utf-8")
    return tmp_path


def read(root, text: str | bytes, name: str = "cases/c.yaml"):
    """The cases of a file that is written first."""
    file = root / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_case_file(file, root)


def problem(root, text: str | bytes, name: str = "cases/c.yaml") -> TruegreenProblem:
    """What is raised instead."""
    with pytest.raises(TruegreenProblem) as caught:
        read(root, text, name)
    return caught.value


def test_the_articles_case_is_read_as_it_stands(root):
    """Every key of the published example; the input is found from the root."""
    (case,) = read(root, ARTICLE, "tests/model/cases/summarize_changelog.yaml")
    assert "tests/model/cases/summarize_changelog.yaml::summarize_changelog" == case.id
    assert ("fixtures/changelog.txt", None, 2) == (case.input, case.prompt, case.line)
    expect = case.expect
    assert ("json", ("breaking", "added", "removed")) == (expect.format, expect.required_keys)
    assert (5, 1200, ("I cannot", "As an AI")) == (
        expect.max_items_per_key,
        expect.max_output_chars,
        expect.forbid_substrings,
    )
    assert ("normal", None, None, False) == (case.blast_radius, case.owner, case.feature, case.golden)


def test_every_key_is_read(root):
    """Who, what for, how costly, with which model and settings."""
    (root / "prompts").mkdir()
    (root / "prompts" / "p.md").write_text("sum up\n", encoding="utf-8")
    (case,) = read(
        root,
        PLAIN
        + 'prompt: prompts/p.md\nblast_radius: high\nowner: "@ana"\nfeature: changelog\ngolden: true\n'
        + "model: small-1\nsettings: {temperature: 0.2, max_tokens: 200, stop: [END], response_format: {type: json_object}}\n",
    )
    assert ("cases/in.txt", "prompts/p.md") == (case.input, case.prompt)
    assert ("high", "@ana", "changelog", True) == (case.blast_radius, case.owner, case.feature, case.golden)
    expected = {
        "temperature": 0.2,
        "max_tokens": 200,
        "stop": ["END"],
        "response_format": {"type": "json_object"},
    }
    assert ("small-1", expected) == (case.model, case.settings)


def test_a_file_holds_one_case_a_list_or_several_documents(root):
    """Ids in file order, each with its line."""
    one = "id: {}\ninput: in.txt\nexpect: {{format: json}}\n".format
    item = "- {{id: {}, input: in.txt, expect: {{format: json}}}}\n".format
    text = one("a") + "---\n" + item("b") + item("c") + "---\n" + one("d") + "---\n"
    assert [("a", 1), ("b", 5), ("c", 6), ("d", 8)] == [
        (case.id.partition("::")[2], case.line) for case in read(root, text)
    ]


def test_ids_are_the_same_on_every_machine(root):
    """Path and id composed (NFC), with forward slashes; bytes that are not UTF-8 written %XX."""
    (case,) = read(root, PLAIN.replace("id: a", "id: e\u0301"), "cases/u\u0308.yaml")
    assert "cases/\u00fc.yaml::\u00e9" == case.id
    raw = os.fsdecode(b"cases/x\xff.yaml")
    (case,) = read(root, PLAIN, raw)
    assert "cases/x%FF.yaml::a" == case.id


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (PLAIN.replace("id: a", "name: a"), "bad-case", ':1: unknown key "name"'),
        (PLAIN + "extra: 1\n", "bad-case", ':4: unknown key "extra"'),
        (PLAIN.replace("format:", "fromat:"), "bad-expectation", ':3: unknown expectation "fromat"'),
        (PLAIN.replace("id: a\n", ""), "bad-case", "a case needs an id"),
        (PLAIN.replace("id: a", "id: 5"), "bad-case", ':1: id is "5", a text is asked'),
        (PLAIN.replace("id: a", "id: 3.10"), "bad-case", "a text is asked: put it in quotes"),
        (PLAIN.replace("id: a", "id: no"), "yaml-two-readings", ':1: "no" is read differently'),
        (PLAIN.replace("id: a", "id: 1e3"), "yaml-two-readings", "put it in quotes"),
        (PLAIN.replace("id: a", "id: 2026-01-01"), "yaml-two-readings", "put it in quotes"),
        (PLAIN.replace("id: a", "id: ''"), "bad-case", "a text is asked"),
        (PLAIN.replace("id: a", 'id: "a\\nb"'), "unstable-id", "control characters"),
        (PLAIN.replace("id: a", 'id: "a::b"'), "unstable-id", "::"),
        (PLAIN.replace("id: a", 'id: " a"'), "unstable-id", "blanks at its ends"),
        (PLAIN.replace("id: a", "id: a\\b"), "unstable-id", "backslash"),
        (PLAIN.replace("id: a", "id: " + "a" * 201), "bad-case", "201 characters"),
        (PLAIN + "id: b\n", "yaml-two-readings", ':4: the key "id" stands twice'),
        (PLAIN + "---\n" + PLAIN, "unstable-id", "stands at cases/c.yaml:1 too"),
        (PLAIN.replace("input: in.txt\n", ""), "bad-case", "nothing to send"),
        (PLAIN.replace("expect: {format: json}\n", ""), "bad-expectation", "expect is null"),
        (PLAIN.replace("{format: json}", "{}"), "bad-expectation", ":3: expect is a mapping of 0"),
        (PLAIN.replace("{format: json}", "{forbid_substrings: []}"), "bad-expectation", "asks for nothing"),
        (PLAIN.replace("{format: json}", "{required_keys: [no]}"), "yaml-two-readings", "read differently"),
        (PLAIN.replace("{format: json}", "{required_keys: [3.10]}"), "bad-expectation", "put it in quotes"),
        (PLAIN.replace("{format: json}", "{enum: [yes, no]}"), "yaml-two-readings", "read differently"),
        (PLAIN + "golden: yes\n", "yaml-two-readings", "read differently"),
        (PLAIN + "golden: 1\n", "bad-case", "true or false is asked"),
        (PLAIN + "blast_radius: huge\n", "bad-case", "not one of low, normal, high"),
        (PLAIN + "owner: 5\n", "bad-case", "a text is asked"),
        (PLAIN + "settings: 1\n", "bad-case", "settings is no mapping"),
        (PLAIN + "settings: {temprature: 1}\n", "bad-case", 'unknown setting "temprature"'),
        (PLAIN + "settings: {temperature: '0'}\n", "bad-case", "of another type"),
        (PLAIN + "settings: {seed: true}\n", "bad-case", "of another type"),
        (PLAIN + "x: !!python/object/apply:os.system ['true']\n", "bad-yaml", "tags are not read"),
        ("- a\n- b\n", "bad-case", ":1: a case is a mapping"),
        ("just text\n", "bad-case", "a case is a mapping"),
        ("", "bad-case", "holds no case"),
        ("# nothing\n", "bad-case", "holds no case"),
        ("[]\n", "bad-case", "holds no case"),
        (b"id: \xff\n", "bad-yaml", "not UTF-8"),
        ("id: a\x00b\n", "bad-yaml", "no YAML"),
        ("id: [a\n", "bad-yaml", "no YAML"),
    ],
)
def test_what_is_no_case_is_refused_with_file_and_line(root, text, code, words):
    """One sentence that names the place, for each."""
    found = problem(root, text)
    assert code == found.code
    assert words in found.message
    assert found.message.startswith("cases/c.yaml:")
    assert 2 == found.exit_code


def test_line_ends_and_a_byte_order_mark_change_nothing(root):
    """A file from another system is the same case."""
    (expected,) = read(root, PLAIN)
    assert (expected,) == read(root, b"\xef\xbb\xbf" + PLAIN.replace("\n", "\r\n").encode())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("nowhere.txt", '"nowhere.txt" is not there'),
        ("../fixtures/changelog.txt", ".."),
        ("fixtures/../fixtures/changelog.txt", ".."),
        ("/etc/hostname", "absolute"),
        ("'a\\b'", "backslash"),
        ("link.txt", "is a link"),
        ("linked/changelog.txt", "is a link"),
        ("fixtures", "is a link or no regular file"),
        ("twice.txt", "is there twice"),
        ("./fixtures/changelog.txt", "is not there"),
        ("x" * 300, "is not there"),
    ],
)
def test_a_path_means_one_regular_file_below_the_root(root, path, words):
    """Outside, through a link, a folder, nowhere, or in two places: refused with the line."""
    (root / "cases" / "link.txt").symlink_to(root / "fixtures" / "changelog.txt")
    (root / "cases" / "linked").symlink_to(root / "fixtures")
    for folder in (root, root / "cases"):
        (folder / "twice.txt").write_text("", encoding="utf-8")
    found = problem(root, PLAIN.replace("in.txt", path))
    assert "case-path" == found.code
    assert words in found.message
    assert found.message.startswith("cases/c.yaml:2: ")


def test_beside_the_case_file_can_be_said(root):
    """``./`` settles which of two files is meant."""
    for folder in (root, root / "cases"):
        (folder / "twice.txt").write_text("", encoding="utf-8")
    (case,) = read(root, PLAIN.replace("in.txt", "./twice.txt"))
    assert "cases/twice.txt" == case.input


def test_a_case_file_is_a_regular_file_below_the_root(root, tmp_path_factory):
    """A link, a file elsewhere, a file that is not there or cannot be read."""
    (root / "real.yaml").write_text(PLAIN, encoding="utf-8")
    (root / "cases" / "link.yaml").symlink_to(root / "real.yaml")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "c.yaml"
    elsewhere.write_text(PLAIN, encoding="utf-8")
    for file, kind, code in (
        (root / "cases" / "link.yaml", UsageProblem, "case-path"),
        (root / "cases", UsageProblem, "case-path"),
        (elsewhere, UsageProblem, "case-path"),
        (root / "none.yaml", ReachProblem, "file-unreadable"),
    ):
        with pytest.raises(kind) as caught:
            read_case_file(file, root)
        assert code == caught.value.code


def test_a_schema_may_stand_in_a_file_of_its_own(root):
    """Read as strict JSON; the file is part of what judges, so its path is kept."""
    (root / "cases" / "s.json").write_text('{"type": "array"}', encoding="utf-8")
    text = PLAIN.replace("{format: json}", "{json_schema: s.json}")
    (case,) = read(root, text)
    assert ("cases/s.json", {"type": "array"}) == (case.schema_file, case.expect.json_schema)
    (root / "cases" / "s.json").write_text('{"type": "array", "type": "object"}', encoding="utf-8")
    found = problem(root, text)
    assert ("bad-case", True) == (found.code, "cases/c.yaml:3: cases/s.json is no JSON" in found.message)
    (root / "cases" / "s.json").write_text("[1]", encoding="utf-8")
    assert "a schema or the path of one" in problem(root, text).message


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80) | st.text(alphabet="idexpct: \n-[]{}'\"&*!a0", max_size=80).map(str.encode))
def test_any_file_is_cases_or_one_problem(root, data):
    """Whatever stands in the file: no traceback, and never a case without an expectation."""
    try:
        cases = read(root, data)
    except TruegreenProblem:
        return
    assert all(case.expect is not None for case in cases)
