# SPDX-License-Identifier: Apache-2.0
"""The verb ``cassette check``: recordings against their contracts, offline, and the record of a replay."""

from __future__ import annotations

from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.replay_session import ReplaySession
from truegreen.report.as_json import shown_json
from truegreen.wiring.cassette_check import CheckRequest, CheckResult
from truegreen.wiring.cassette_check import check as run_check
from truegreen.wiring.environment import environment

MARKS = {"fails": "FAILS  ", "unknown": "UNKNOWN", "note": "note   "}


@click.command(name="check")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[FOLDER]", required=False)
@click.option(
    "--lane", metavar="NAME", help="The lane that was replayed. Default: the only one that replays."
)
@click.option(
    "--session",
    "sessions",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the replay left; may be given again, one a process. Writes the lane's record.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the record goes. Default with --session: artifacts/.",
)
@click.option(
    "--subject-from",
    type=click.Choice(["github", "git"]),
    help="What the record is about. Default: told by the environment.",
)
@click.option("--base", metavar="BRANCH", help="Base branch of a working copy.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output."
)
def check(  # noqa: PLR0913 - one parameter an option
    *,
    folder: Path | None,
    lane: str | None,
    sessions: tuple[Path, ...],
    record: Path | None,
    subject_from: str | None,
    base: str | None,
    form: str,
) -> int:
    """Check recordings against their contracts, offline.

    Findings come in the order of triage: missing, contract, truncated or changed by hand, secrets, notes. FOLDER is
    "cassettes" if left out, or the lane's. With --session the record contract-check is written, which says that
    answers were replayed, not sampled.

    Exit 1 if something fails, 3 if something cannot be told.
    """
    found = run_check(
        CheckRequest(
            cwd=Path.cwd(),
            folder=folder,
            lane=lane,
            sessions=sessions,
            record=record,
            subject_from=subject_from,
            base=base,
        ),
        environment(),
    )
    if form == "json":
        click.echo(shown_json(_document(found)), nl=False)
    else:
        _print(found)
    return found.code


def _print(found: CheckResult) -> None:
    for one in found.findings:
        where = ":".join(filter(None, (one.file, one.place)))
        who = f" (template {one.template}, owner {one.owner})" if one.template and one.owner else ""
        click.echo(
            in_one_line(f"{MARKS[one.weight]} {one.code} {where}: {one.problem}{who}".replace(" : ", ": "))
        )
    counts = {weight: sum(1 for one in found.findings if one.weight == weight) for weight in MARKS}
    told = f"{counts['fails']} fail, {counts['unknown']} unknown, {counts['note']} notes"
    recordings = len(found.checked.recordings)
    click.echo(in_one_line(f"contract-check {found.folder}: {recordings} recordings, {told}"))
    if found.session is not None:
        click.echo(in_one_line(_replayed(found.session)))
    if found.record is not None:
        click.echo(in_one_line(f"record: {found.record}"))


def _replayed(session: ReplaySession) -> str:
    played = sum(hit.count for hit in session.hits)
    whole = "whole" if session.complete else "not whole"
    return f"replayed, not sampled: {played} answers, {len(session.misses)} misses, guard {session.guard}, {whole}"


def _document(found: CheckResult) -> dict[str, object]:
    return {
        "schema": "truegreen/cassette-check/v1",
        "folder": found.folder,
        "recordings": [
            {
                "file": one.file,
                "template": one.template,
                "template_version": one.template_version,
                "model_asked": one.model_asked,
                "model_served": one.model_served,
                "answers": one.answers,
            }
            for one in found.checked.recordings
        ],
        "findings": [
            {
                "code": one.code,
                "weight": one.weight,
                "file": one.file,
                "place": one.place,
                "template": one.template,
                "owner": one.owner,
                "problem": one.problem,
            }
            for one in found.findings
        ],
        "record": None if found.record is None else str(found.record),
    }
