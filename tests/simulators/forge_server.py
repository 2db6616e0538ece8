# SPDX-License-Identifier: Apache-2.0
"""A loopback server that shows a ``World`` as GitHub's REST API does, faults included.

Pages, counts, attempts, carried-over copies with new ids, one namespace of artifacts for all attempts. Faults are
planted by path and end after ``times`` answers.
"""

import json
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from simulators.forge import World

NEVER_BEGAN = "2026-11-29T09:59:59Z"
"""What GitHub writes where nothing began: some time all the same."""


@dataclass
class Fault:
    """What goes wrong for paths that end like this."""

    path: str
    kind: str
    times: int = 1000
    page: int | None = None
    value: object = None


class ForgeServer:
    """The server; use as a context."""

    def __init__(self, world: World, prefix: str = ""):
        self.world = world
        self.prefix = prefix
        self.faults: list[Fault] = []
        self.asked: list[tuple[str, str | None]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}{self.prefix}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def fault(self, path, kind, *, times=1000, page=None, value=None):
        """Plant a fault."""
        self.faults.append(Fault(path, kind, times, page, value))

    def take_fault(self, path: str, page: int) -> Fault | None:
        """The fault that the next answer for this path has."""
        for fault in self.faults:
            if path.endswith(fault.path) and fault.times > 0 and fault.page in (None, page):
                fault.times -= 1
                return fault
        return None

    def answer(self, path: str, query: dict[str, str]):
        """The value at a path, or None."""
        world = self.world
        top = f"{self.prefix}/repos/{world.repo}"
        if path.casefold() == top.casefold():
            return {"id": 7301, "full_name": world.repo, "default_branch": "main"}
        if not path.casefold().startswith(top.casefold() + "/"):
            return None
        match path[len(top) + 1 :].split("/"):
            case ["pulls", number]:
                request = world.requests.get(int(number))
                return request and _pull(world, request)
            case ["actions", "runs"]:
                return "workflow_runs", [_run(world, run, run.attempts[-1]) for run in self._found(query)]
            case ["actions", "runs", run_id, "attempts", number, *rest]:
                run = next(run for run in world.runs if run.run_id == int(run_id))
                if int(number) > len(run.attempts):
                    return None
                attempt = run.attempts[int(number) - 1]
                if rest == ["jobs"]:
                    return "jobs", [_job(run, int(number), index) for index in range(len(attempt.jobs))]
                return {**_run(world, run, attempt), "run_attempt": int(number)}
            case ["actions", "runs", run_id, "artifacts"]:
                return "artifacts", _artifacts(next(run for run in world.runs if run.run_id == int(run_id)))
        return None

    def _found(self, query):
        found = [run for run in self.world.runs if run.attempts]
        for name, of in (("head_sha", "head_sha"), ("branch", "branch"), ("event", "event")):
            found = [run for run in found if query.get(name) in (None, getattr(run, of))]
        since = query.get("created", "").removeprefix(">=")
        newest_first = sorted(found, key=lambda run: (run.created_at, run.run_id), reverse=True)
        return [run for run in newest_first if run.created_at >= since]


def _repository(world: World, name):
    return name and {"id": 7301 if name == world.repo else 8000 + sum(name.encode()), "full_name": name}


def _pull(world: World, request):
    return {
        "id": 99_000 + request.number,
        "number": request.number,
        "state": "open",
        "created_at": request.created_at,
        "head": {"ref": request.branch, "sha": "f" * 40, "repo": _repository(world, request.head_repo)},
        "base": {"ref": "main", "sha": "e" * 40, "repo": _repository(world, world.repo)},
    }


def _run(world: World, run, attempt):
    return {
        "id": run.run_id,
        "name": "truegreen",
        "head_branch": run.branch,
        "head_sha": run.head_sha,
        "path": f"{run.workflow}@refs/heads/main",
        "event": run.event,
        "status": attempt.status,
        "conclusion": attempt.conclusion,
        "run_attempt": len(run.attempts),
        "created_at": run.created_at,
        "run_started_at": attempt.started_at,
        "pull_requests": [],
        "head_repository": _repository(world, run.head_repo),
        "repository": _repository(world, world.repo),
    }


def _job(run, number, index):
    job = run.attempts[number - 1].jobs[index]
    return {
        "id": run.run_id * 10_000 + number * 1_000 + index,
        "run_id": run.run_id,
        "run_attempt": number,
        "name": job.name,
        "status": job.status,
        "conclusion": job.conclusion,
        "started_at": job.began or NEVER_BEGAN,
        "completed_at": job.began if job.status == "completed" else None,
        "runner_id": 17 if job.began else 0,
        "runner_name": "runner 17" if job.began else "",
        "steps": [{"name": "Set up job", "status": "completed", "conclusion": "success", "number": 1}]
        if job.began
        else [],
    }


def _artifacts(run):
    rows = []
    for attempt in run.attempts:
        for artifact, made_at in zip(attempt.artifacts, attempt.made_at, strict=True):
            rows.append(
                {
                    "id": run.run_id * 100 + len(rows),
                    "name": artifact.name,
                    "size_in_bytes": artifact.size_bytes,
                    "expired": artifact.expired,
                    "created_at": made_at,
                    "digest": artifact.digest,
                    "workflow_run": {"id": run.run_id, "head_sha": run.head_sha},
                }
            )
    return list(reversed(rows))


def _handler(forge: ForgeServer):  # noqa: C901 - the faults stand together
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16  # headers and body leave together

        def log_message(self, *_):
            """Quiet."""

        def do_GET(self):
            """One answer."""
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            page = int(query.get("page", "1"))
            forge.asked.append((self.path, self.headers.get("Authorization")))
            fault = forge.take_fault(parts.path, page)
            value = forge.answer(parts.path, query)
            if isinstance(value, tuple):
                value = self._page(value, page, int(query.get("per_page", "30")), fault)
            if fault and fault.kind == "spoil":
                value = fault.value(value)
            self._send(200 if value is not None else 404, json.dumps(value).encode(), fault)

        def _page(self, value, page, size, fault):
            key, rows = value
            kind = fault.kind if fault else ""
            shown = rows[(page - 1) * size : page * size]
            total = len(rows) + {"count+1": 1, "count-1": -1}.get(kind, 0)
            if kind == "short":
                shown = shown[:-1]
            if kind == "twice":
                shown = [*shown[:-1], shown[0]]
            if kind == "many":
                total = 1500
            return {"total_count": total, key: shown}

        def _send(self, status, body, fault):
            kind = fault.kind if fault else ""
            headers = {}
            if kind == "status":
                status, headers = fault.value if isinstance(fault.value, tuple) else (fault.value, {})
                body = b'{"message": "no"}'
            if kind == "truncated":
                body = body[: len(body) // 2]
            if kind == "not-json":
                body = b"<html>maintenance</html>"
            if kind == "huge":
                body = b'"' + b"x" * (17 * 1024 * 1024) + b'"'
            if kind == "redirect":
                status, body = 301, b""
                headers["Location"] = fault.value
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name, text)
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(body) + (10 if kind == "cut" else 0)))
            self.end_headers()
            self.wfile.write(body)
            if kind == "cut":
                self.close_connection = True

        def handle(self):
            """A client that hung up is no error of the server."""
            with suppress(OSError):
                super().handle()

    return Handler
