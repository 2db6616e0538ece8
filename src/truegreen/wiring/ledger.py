# SPDX-License-Identifier: Apache-2.0
"""Wires ``truegreen ledger show``: a record file goes in, its ledger comes out in one of three forms.

- The file is read as strictly as the gate reads it; what contradicts itself is shown to nobody as a ledger.
- Whatever somebody else wrote into it is shown and not obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from truegreen.core.canonical import DEFAULT
from truegreen.core.errors import EvidenceProblem
from truegreen.core.record import Envelope, kind_of, read_record
from truegreen.gate import ledger_record
from truegreen.report.as_json import shown_json
from truegreen.report.defused import plain
from truegreen.sampling import summary
from truegreen.sampling.ledger import LedgerBody
from truegreen.sampling.ledger_views import article_view, recount_view
from truegreen.wiring.reading import bytes_of

FORMATS = ("text", "json", "article")
KIND = ("sample-ledger", 1)
SHORT = 12


def read_ledger(path: Path) -> tuple[Envelope, LedgerBody]:
    """The envelope and the typed body of a ledger's file.

    Raises: ReachProblem ``file-unreadable``; EvidenceProblem of the readers, or ``not-a-ledger``.
    """
    envelope, _ = read_record(bytes_of(path, DEFAULT.max_bytes + 1))
    if kind_of(envelope.schema) != KIND:
        raise EvidenceProblem(
            "not-a-ledger", f"{path} is a {envelope.schema}, asked is a truegreen/{KIND[0]}/v{KIND[1]}"
        )
    return envelope, ledger_record.decode(envelope.body)


def shown(path: Path, form: str) -> str:
    """A ledger in one of ``FORMATS``, with a newline at its end.

    Raises: as ``read_ledger``; EvidenceProblem for samples that contradict each other.
    """
    envelope, body = read_ledger(path)
    match form:
        case "json":
            about = {"lane": envelope.lane, "part": envelope.part, "head_sha": envelope.subject.head_sha}
            return shown_json({**recount_view(body), **about})
        case "article":
            return shown_json(article_view(body))
        case _:
            return "".join(f"{plain(line)}\n" for line in _text(envelope, body))


def _text(envelope: Envelope, body: LedgerBody) -> Iterator[str]:
    subject = envelope.subject
    attempt = f"run {subject.run_id} attempt {subject.run_attempt}" if subject.run_id else "a working copy"
    dirty = " with uncommitted changes" if subject.dirty else ""
    yield f"lane {envelope.lane}, {attempt}, {subject.head_sha[:SHORT]}{dirty}, {body.ended}"
    yield _rule(body)
    for link in body.chain:
        yield f"run {link.run_id} attempt {link.run_attempt}: {link.standing}"
    yield from summary.lines(body)


def _rule(body: LedgerBody) -> str:
    rule = body.rule
    if rule.name == "fixed":
        return f"rule fixed: {rule.samples} samples a case"
    sequence = "" if rule.j is None else f", sequence {rule.j} of this pull request"
    return f"rule {rule.name}: until it is certain, at most {rule.cap} samples a case{sequence}"
