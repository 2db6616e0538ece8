# SPDX-License-Identifier: Apache-2.0
"""What part 5 is answered with: real folders, and watched reading."""

import time

from factories.cassettes import SECRET, answered, asked
from truegreen.core.plain_yaml import Document
from truegreen.wiring import conformance_recordings as wiring


def test_counts_are_read_off_the_folder():
    """Two recordings of one request and one of another; three requests, of which one has none."""
    one, other = asked(), asked({"x": 1})
    found = wiring.play([one, other, one], [one, asked({"x": 2}), one])
    assert (("cassette-missing",), 2, 0, 3, (1,)) == (
        found.misses,
        found.played,
        found.files_written,
        found.entries_after,
        found.unplayed,
    )


def test_reading_that_would_run_something_is_noticed(monkeypatch):
    """The watch sees a reader that calls what a tag names."""
    data = b"a: !!python/object/apply:time.time []"
    assert not wiring.load(data).code_run

    def careless(data, name):
        time.time()

    monkeypatch.setattr(wiring, "refuse_tags", careless)
    monkeypatch.setattr(wiring, "read_yaml", lambda *_, **__: (Document(value=1, lines={}),))
    assert wiring.load(data).code_run


def test_a_kept_exchange_is_looked_for_in_its_bytes(monkeypatch):
    """A store that drops nothing is found out."""
    one, back = (
        asked(headers=[("Authorization", SECRET)]),
        answered(headers=[("Set-Cookie", "a=cookie-value-1")]),
    )
    assert {"request.Authorization": False, "response.Set-Cookie": False} == wiring.keep(one, back).on_disk
    monkeypatch.setattr(wiring, "_contents", lambda folder: {"x": f"{SECRET} cookie-value-1".encode()})
    assert {"request.Authorization": True, "response.Set-Cookie": True} == wiring.keep(one, back).on_disk
