# SPDX-License-Identifier: Apache-2.0
"""A recorder's key and its seals."""

import stat

import pytest

from truegreen.core.digest import sha256_of
from truegreen.core.errors import EvidenceProblem, ReachProblem, UsageProblem
from truegreen.core.seal import opened
from truegreen.wiring.cassette_seal import new_key, seal_folder
from truegreen.wiring.rehearsal import replays


@pytest.fixture
def folder(tmp_path):
    """A folder of recordings that keep their contract."""
    root = tmp_path / "cassettes"
    for name, data in replays.recordings(tmp_path / "scratch").items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


@pytest.fixture
def key(tmp_path):
    """A private key, and its public one."""
    path = tmp_path / "recorder.pem"
    return path, new_key(path)


def test_a_key_is_its_owners_alone(key):
    """Nobody else reads it, and it never replaces another."""
    path, _ = key
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    with pytest.raises(ReachProblem) as caught:
        new_key(path)
    assert "not-written" == caught.value.code


def test_every_file_of_a_folder_is_sealed_by_name_and_digest(folder, key):
    """Contracts and their schemas too; a second seal does not seal the first."""
    path, public = key
    sealed = seal_folder(folder, path, {})
    found = opened(sealed.path.read_bytes(), [public])
    there = {one.relative_to(folder).as_posix(): one for one in folder.rglob("*") if one.is_file()}
    del there[sealed.path.relative_to(folder).as_posix()]
    assert {name: sha256_of(one.read_bytes()) for name, one in there.items()} == dict(found.files)
    assert sealed.files == seal_folder(folder, path, {}).files


def test_only_the_named_files_are_sealed(folder, key):
    """One recording of many."""
    sealed = seal_folder(folder, key[0], {}, ("contracts.toml",))
    assert ("contracts.toml",) == sealed.files


@pytest.mark.parametrize("name", ["nowhere.json", "contracts", "../recorder.pem"])
def test_what_is_no_file_of_the_folder_is_refused(folder, key, name):
    """A seal names files of its folder only."""
    with pytest.raises(UsageProblem) as caught:
        seal_folder(folder, key[0], {}, (name,))
    assert "no-such-recording" == caught.value.code


def test_nothing_is_sealed_in_ci(folder, key):
    """A signing key has no place in a job that runs a change's code."""
    with pytest.raises(UsageProblem) as caught:
        seal_folder(folder, key[0], {"CI": "true"})
    assert ("recording-in-ci", False) == (caught.value.code, (folder / "seals").exists())


def test_what_fails_its_check_is_not_sealed(folder, key):
    """A secret least of all."""
    (folder / "notes.txt").write_text("sk-proj-0aB1cD2eF3gH4iJ5kL6mN7oP")
    with pytest.raises(EvidenceProblem) as caught:
        seal_folder(folder, key[0], {})
    assert ("recording-refused", False) == (caught.value.code, "0aB1" in caught.value.message)
    assert ("contracts.toml",) == seal_folder(folder, key[0], {}, ("contracts.toml",)).files


def test_a_file_that_is_no_key_seals_nothing(folder, key):
    """The public half, or any other text."""
    with pytest.raises(UsageProblem) as caught:
        seal_folder(folder, folder / "contracts.toml", {})
    assert "bad-key" == caught.value.code
