# SPDX-License-Identifier: Apache-2.0
"""What GitHub's runner reads out of a step's log and output file, written from the runner's own rules.

Source: actions/runner, ActionCommand.TryParseV2, ActionCommand.TryParse, FileCommandManager (SetOutput).
"""

import re
from dataclasses import dataclass, field

REGISTERED = {
    "add-mask",
    "add-matcher",
    "add-path",
    "debug",
    "echo",
    "endgroup",
    "error",
    "group",
    "notice",
    "remove-matcher",
    "save-state",
    "set-env",
    "set-output",
    "stop-commands",
    "warning",
}


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command that the runner would carry out."""

    name: str
    data: str
    properties: dict[str, str] = field(default_factory=dict)


def commands_in(log: str) -> list[Command]:
    """Every command of a log, line by line, in either syntax."""
    found = (_second_syntax(line) or _first_syntax(line) for line in re.split(r"\r\n|\n|\r", log))
    return [command for command in found if command]


def outputs_in(content: str) -> dict[str, str]:
    """The outputs that a file holds; raises where the runner fails the step."""
    outputs = {}
    lines = content.split("\n")
    assert "" == lines.pop()
    while lines:
        line = lines.pop(0)
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line.split("=", 1)
        elif heredoc >= 0:
            name, delimiter = line.split("<<", 1)
            if not name or not delimiter:
                raise ValueError(f"invalid format {line!r}")
            end = lines.index(delimiter)
            value, lines = "\n".join(lines[:end]), lines[end + 1 :]
        else:
            raise ValueError(f"invalid format {line!r}")
        outputs[name] = value
    return outputs


def _second_syntax(line: str) -> Command | None:
    line = line.lstrip()
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    name, _, properties = line[2:end].partition(" ")
    if name.lower() not in REGISTERED:
        return None
    pairs = [pair.split("=", 1) for pair in properties.strip().split(",")]
    return Command(
        name=name.lower(),
        properties={pair[0]: _property(pair[1], ":,") for pair in pairs if len(pair) == 2 and pair[1]},
        data=_data(line[end + 2 :]),
    )


def _first_syntax(line: str) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, properties = line[start + 3 : end].partition(" ")
    if name.lower() not in REGISTERED:
        return None
    pairs = [pair.split("=", 1) for pair in properties.strip().split(";")]
    return Command(
        name=name.lower(),
        properties={pair[0]: _property(pair[1], ";]") for pair in pairs if len(pair) == 2 and pair[1]},
        data=_data(line[end + 1 :]),
    )


def _data(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def _property(text: str, marks: str) -> str:
    for mark in "\r\n" + marks:
        text = text.replace(f"%{ord(mark):02X}", mark)
    return text.replace("%25", "%")
