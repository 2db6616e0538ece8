# SPDX-License-Identifier: Apache-2.0
"""The verbs of ``cassette`` that look after recordings: list, show, diff, stats, log, prune, import, migrate, review."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from truegreen.cli.problems import in_one_line
from truegreen.core.errors import not_in_this_version
from truegreen.core.outcome import Exit

FOLDER = click.argument(
    "folder", type=click.Path(path_type=Path), metavar="[FOLDER]", default=Path("cassettes")
)
FORMAT = click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True, help="Output."
)


FILE = click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
OLD = click.argument("old", type=click.Path(path_type=Path), metavar="OLD")
NEW = click.argument("new", type=click.Path(path_type=Path), metavar="NEW")
SESSIONS = click.argument(
    "sessions", type=click.Path(path_type=Path), metavar="SESSION...", nargs=-1, required=True
)


def _say(lines: Iterable[str], form: str = "text") -> None:
    for line in lines:
        click.echo(line if form == "json" else in_one_line(line))


@click.command("list")
@FOLDER
@FORMAT
def list_(folder: Path, form: str) -> Exit:
    """List the recordings in FOLDER ("cassettes" if left out): template, model, answers, tokens, date."""
    from truegreen.wiring.cassette_upkeep import listed  # noqa: PLC0415 - not needed for other verbs

    _say(listed(folder, form), form)
    return Exit.DONE


@click.command("show")
@FILE
@FORMAT
def show(file: Path, form: str) -> Exit:
    """Show one recording, request above answers, bodies decoded.

    Every text is searched for secrets once more before it is shown.
    """
    from truegreen.wiring.cassette_upkeep import shown  # noqa: PLC0415 - not needed for other verbs

    _say(shown(file, form), form)
    return Exit.DONE


@click.command("diff")
@OLD
@NEW
@FORMAT
def diff(old: Path, new: Path, form: str) -> Exit:
    """Say where two recordings differ, by JSON path. Exit 1 if they do."""
    from truegreen.wiring.cassette_upkeep import compared  # noqa: PLC0415 - not needed for other verbs

    lines, is_different = compared(old, new, form)
    _say(lines, form)
    return Exit.BLOCK if is_different else Exit.DONE


@click.command("stats")
@FOLDER
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="Log of runs. Default: FOLDER.runs.jsonl."
)
@FORMAT
def stats(folder: Path, log: Path | None, form: str) -> Exit:
    """Count the recordings in FOLDER ("cassettes" if left out), and the misses of each week if runs were logged."""
    from truegreen.wiring.cassette_upkeep import counted  # noqa: PLC0415 - not needed for other verbs

    _say(counted(folder, log, form), form)
    return Exit.DONE


@click.command("log")
@SESSIONS
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: beside the folder, FOLDER.runs.jsonl.",
)
def log_(sessions: tuple[Path, ...], log: Path | None) -> Exit:
    """Append one replay to the log of runs: hits, misses, unused.

    SESSION is a file that a replay left; give those of all workers and shards of one run. A run that is logged
    already is not logged again.
    """
    from truegreen.wiring.cassette_upkeep import logged  # noqa: PLC0415 - not needed for other verbs

    path, is_new = logged(sessions, log, Path.cwd())
    _say([f"{path}: {'1 run added' if is_new else 'this run was there already'}"])
    return Exit.DONE


@click.command("prune")
@click.argument("folder", type=click.Path(path_type=Path), metavar="FOLDER")
@SESSIONS
@click.option(
    "--parts",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Workers and shards that the run had: as many session files are asked.",
)
@click.option("--delete", "is_real", is_flag=True, help="Remove them. Without this they are only listed.")
def prune(folder: Path, sessions: tuple[Path, ...], parts: int, *, is_real: bool) -> Exit:
    """List the recordings that a complete, green replay did not play.

    Refused (exit 3) after a selection such as -k, an interrupt, a red run, a miss, with a part missing, or if the
    folder has changed since.
    """
    from truegreen.wiring.cassette_upkeep import pruned  # noqa: PLC0415 - not needed for other verbs

    found = pruned(folder, sessions, parts, is_real=is_real)
    done = "removed" if is_real else "unused, not removed (--delete removes them)"
    _say([*found, f"{len(found)} recordings {done if found else 'unused'}"])
    return Exit.DONE


@click.command("import")
@click.argument("files", type=click.Path(path_type=Path), metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--from",
    "form",
    type=click.Choice(("vcrpy", "polly", "nock")),
    required=True,
    help="Whose recordings: vcrpy (pytest-recording too), Polly.js (and other HAR), nock.",
)
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path),
    default="cassettes",
    show_default=True,
    metavar="FOLDER",
    help="Where to.",
)
@click.option("--host", metavar="ALIAS", help="Alias of the endpoint. Default: the host that was asked.")
@click.option("--errors", "keeps_errors", is_flag=True, help="Take answers other than 200 to 299 too.")
def import_(
    *, files: tuple[Path, ...], form: str, folder: Path, host: str | None, keeps_errors: bool
) -> Exit:
    """Take over the recordings of another tool, and say what is lost.

    Secrets are taken out as when recording, YAML that names objects is refused, a request that has a recording is
    left out. Exit 3 if anything was left out. Refuses where CI is set.
    """
    from truegreen.wiring.cassette_import import import_recordings  # noqa: PLC0415 - not needed for other verbs
    from truegreen.wiring.clock import SystemClock  # noqa: PLC0415 - as above
    from truegreen.wiring.environment import environment  # noqa: PLC0415 - as above

    done = import_recordings(
        form,
        files,
        folder,
        host=host,
        keeps_errors=keeps_errors,
        clock=SystemClock(),
        environment=environment(),
    )
    _say(f"left out: {line}" for line in done.left)
    _say(f"lost in {count}: {what}" for what, count in done.losses)
    _say([f"{done.taken} exchanges taken into {done.files} recordings, {len(done.left)} left out"])
    return Exit.HOLD if done.left else Exit.DONE


@click.command("migrate")
@FOLDER
@click.option("--check", "is_check", is_flag=True, help="Say what would change, change nothing.")
def migrate(folder: Path, *, is_check: bool) -> Exit:
    """Say which recordings in FOLDER this version would key or write otherwise.

    FOLDER is "cassettes" if left out. Exit 0 if none, 1 if some, 3 if one cannot be read. There is one version so far: only --check does something.
    """
    from truegreen.wiring.cassette_upkeep import migration  # noqa: PLC0415 - not needed for other verbs

    if not is_check:
        raise not_in_this_version(
            "cassette migrate without --check", hint="truegreen cassette migrate --check"
        )
    lines, code = migration(folder)
    _say(lines)
    return code


@click.command("review")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[FOLDER]", default="cassettes")
@click.option("--base", required=True, metavar="REV", help="Branch that this goes into, such as origin/main.")
@FORMAT
def review(folder: Path, base: str, form: str) -> Exit:
    """Say what this change does to the recordings in FOLDER.

    Changed answers, changed decision fields, contracts kept, new, removed and re-recorded ones, since the working
    copy parted from REV. Exit 1 if a contract is broken or a replaced answer is not in the log, 3 if something
    cannot be read.
    """
    from truegreen.wiring.cassette_review import reviewed, shown_review  # noqa: PLC0415 - not needed for other verbs
    from truegreen.wiring.environment import environment  # noqa: PLC0415 - as above

    found = reviewed(folder, base, environment())
    _say(shown_review(found, form), form)
    if found.is_wrong:
        return Exit.BLOCK
    return Exit.HOLD if found.is_unknown else Exit.DONE


VERBS = (list_, show, diff, stats, log_, prune, import_, migrate, review)
"""To be joined to the group ``cassette``."""
