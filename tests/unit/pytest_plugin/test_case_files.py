# SPDX-License-Identifier: Apache-2.0
"""Which YAML files are cases, and that a misspelt key makes no file vanish."""

import pytest

from truegreen.pytest_plugin.case_files import is_case_file, looks_like_cases


@pytest.mark.parametrize(
    "text",
    [
        "id: a\ninput: b\nexpect: {}\n",
        "id: a\ninput: b\nexpct: {}\n",
        "# comment\n---\nid: a\nprompt: p\n",
        "- id: a\n  input: b\n- id: c\n  input: d\n",
        "-   'id': a\n    \"expect\":\n      format: json\n",
        "{id: a, input: b}\n",
        "[{id: a, expect: {}}]\n",
        "owner: '@ana'\nexpect:\n  format: json\nid: a\n",
    ],
)
def test_two_of_a_case_s_keys_at_the_top_make_a_case_file(text):
    """In any order, quoted, as a list or in one line."""
    assert looks_like_cases(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "id: a\nname: data\n",
        "services:\n  web:\n    id: a\n    input: b\n",
        "data:\n  - id: a\n    input: b\n",
        "- name: a\n  value: 1\n",
        "text: |\n  id: a\n  input: b\n",
        "just text\n",
    ],
)
def test_data_is_left_alone(text):
    """Keys that stand deeper belong to something else."""
    assert not looks_like_cases(text)


def test_place_and_name_decide(tmp_path):
    """Named on the command line, in a folder called cases, or by its looks; and only below the places."""
    lane = tmp_path / "tests"
    (lane / "cases").mkdir(parents=True)
    files = {
        lane / "cases" / "typo.yaml": "ide: a\n",
        lane / "one.yml": "id: a\ninput: b\n",
        lane / "data.yaml": "a: 1\n",
        lane / "case.txt": "id: a\ninput: b\n",
        tmp_path / "other.yaml": "id: a\ninput: b\n",
    }
    for path, text in files.items():
        path.write_text(text)
    found = {path.name for path in files if is_case_file(path, [lane])}
    assert {"typo.yaml", "one.yml"} == found
    assert is_case_file(lane / "data.yaml", [lane / "data.yaml"])
    assert not is_case_file(lane / "data.yaml", [])
    assert not is_case_file(lane / "gone.yaml", [lane])
    (lane / "mark.yaml").write_bytes(b"\xef\xbb\xbfid: a\ninput: \xff\n")
    assert is_case_file(lane / "mark.yaml", [lane])
