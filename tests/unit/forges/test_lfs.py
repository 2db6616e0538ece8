# SPDX-License-Identifier: Apache-2.0
"""A pointer and the file that it stands for."""

import hashlib

import pytest

from truegreen.forges.lfs import is_content_of

CONTENT = b"large content\n"
POINTER = (
    f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(CONTENT).hexdigest()}\nsize 14\n"
).encode()


def test_the_named_content_is_recognised(tmp_path):
    """Digest and size agree; extensions of the format may stand between."""
    (tmp_path / "f").write_bytes(CONTENT)
    assert is_content_of(POINTER, tmp_path / "f")
    assert is_content_of(
        POINTER.replace(b"\noid", b"\next-0-x sha256:" + b"a" * 64 + b"\noid"), tmp_path / "f"
    )


@pytest.mark.parametrize(
    "pointer",
    [
        b"",
        CONTENT,
        POINTER.replace(b"size 14", b"size 15"),
        POINTER.replace(b"oid sha256:", b"oid md5:"),
        POINTER[:60],
    ],
)
def test_anything_else_is_not(tmp_path, pointer):
    """No pointer, another size, another algorithm, cut off."""
    (tmp_path / "f").write_bytes(CONTENT)
    assert not is_content_of(pointer, tmp_path / "f")


def test_a_missing_file_a_folder_a_link_and_an_edit_are_not(tmp_path):
    """Only a plain file of exactly that content is."""
    (tmp_path / "edit").write_bytes(CONTENT.upper())
    (tmp_path / "real").write_bytes(CONTENT)
    (tmp_path / "link").symlink_to("real")
    assert [False] * 4 == [
        is_content_of(POINTER, tmp_path / name) for name in ("edit", "link", "absent", ".")
    ]
