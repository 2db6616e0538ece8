# SPDX-License-Identifier: Apache-2.0
"""Random TOML texts that know on which line each of their keys stands.

The writer counts lines while it writes, so that its account owes nothing to any reader of TOML.
"""

from dataclasses import dataclass, field

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c-d", "é", "a.b", "", 'q"q', "x y", "\\", "true", "1", "#"])
TEXTS = st.text(alphabet="ab\n\t\"'\\#=[]{}, é\r", max_size=12)
NUMBERS = st.sampled_from(["0", "-7", "1_000", "0x1f", "1.5", "-0.0", "inf", "nan", "1e3", "true", "false"])
DATES = st.sampled_from(["1979-05-27", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "07:32:00"])


@dataclass
class Written:
    """A text under construction, and the line of every path so far."""

    text: str = ""
    lines: dict[tuple, int] = field(default_factory=dict)
    newline: str = "\n"

    @property
    def line(self):
        """The line that the next character stands on."""
        return self.text.count("\n") + 1

    def note(self, path, *, again=False):
        """A key of this path is about to be written; the first place counts, or the last if ``again``."""
        if again or path not in self.lines:
            self.lines[path] = self.line


@st.composite
def documents(draw):
    """A valid document as ``Written``."""
    out = Written(newline=draw(st.sampled_from(["\n", "\r\n"])))
    _pairs(draw, out, (), NAMES.filter(lambda name: name not in ("t", "l")))
    used = set()
    for _ in range(draw(st.integers(0, 4))):
        _blank(draw, out)
        if draw(st.booleans()):
            path = ("t", *draw(st.lists(st.sampled_from(["u", "v w", "ñ"]), max_size=2)))
            if path in used:
                continue
            used.add(path)
            for end in range(1, len(path)):
                out.note(path[:end])
            out.note(path, again=True)
            out.text += "[" + _dotted(draw, path) + "]" + _end(draw, out)
            _pairs(draw, out, path, NAMES)
        else:
            index = len([path for path in out.lines if path[:-1] == ("l",)])
            out.note(("l",))
            out.note(("l", index))
            out.text += "[[" + _dotted(draw, ("l",)) + "]]" + _end(draw, out)
            _pairs(draw, out, ("l", index), NAMES)
            if draw(st.booleans()):
                out.note(("l", index, "below"))
                out.text += "[" + _dotted(draw, ("l", "below")) + "]" + _end(draw, out)
                _pairs(draw, out, ("l", index, "below"), NAMES)
    if draw(st.booleans()):
        out.text = out.text.removesuffix(out.newline)
    return out


def _blank(draw, out):
    for _ in range(draw(st.integers(0, 2))):
        out.text += draw(st.sampled_from(["", "  ", '# [x]\t"""'])) + out.newline


def _end(draw, out):
    return draw(st.sampled_from(["", " ", " # '''", "\t#"])) + out.newline


def _pairs(draw, out, table, names):
    for name in draw(st.lists(names, max_size=3, unique=True)):
        _blank(draw, out)
        path = (*table, name)
        if draw(st.booleans()):
            out.note(path)
            path = (*path, draw(NAMES))
        out.note(path)
        out.text += draw(st.sampled_from(["", "  "])) + _dotted(draw, path[len(table) :]) + " = "
        _value(draw, out, path, 2)
        out.text += _end(draw, out)


def _dotted(draw, path):
    return draw(st.sampled_from([".", " . "])).join(_key(draw, name) for name in path)


def _key(draw, name):
    forms = ['"' + _escaped(name) + '"']
    if name and all(char.isascii() and (char.isalnum() or char in "-_") for char in name):
        forms.append(name)
    if "'" not in name and name.isprintable():
        forms.append(f"'{name}'")
    return draw(st.sampled_from(forms))


def _escaped(text):
    short = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "".join(short.get(char, char) for char in text)


def _value(draw, out, path, depth):
    form = draw(
        st.sampled_from(["scalar", "scalar", "text", "array", "table"] if depth else ["scalar", "text"])
    )
    if form == "scalar":
        out.text += draw(NUMBERS | DATES)
    elif form == "text":
        out.text += _string(draw, draw(TEXTS), out.newline)
    elif form == "array":
        out.text += "["
        for index in range(draw(st.integers(0, 3))):
            _gap(draw, out)
            out.note((*path, index))
            _value(draw, out, (*path, index), depth - 1)
            _gap(draw, out)
            out.text += ","
        _gap(draw, out)
        out.text += "]"
    else:
        out.text += "{"
        names = draw(st.lists(NAMES, max_size=2, unique=True))
        for number, name in enumerate(names):
            inner = (*path, name)
            out.note(inner)
            if draw(st.booleans()):
                inner = (*inner, draw(NAMES))
                out.note(inner)
            out.text += (", " if number else " ") + _dotted(draw, inner[len(path) :]) + "="
            _value(draw, out, inner, depth - 1)
        out.text += " }"


def _gap(draw, out):
    for _ in range(draw(st.integers(0, 2))):
        out.text += draw(st.sampled_from([" ", "# ],"])) + out.newline


def _string(draw, text, newline):
    forms = ['"' + _escaped(text) + '"']
    lines = text.replace("\r", "").replace("\n", newline)
    several = lines.replace("\\", "\\\\").replace('"""', '""\\"')
    quoted = several[:-1] + '\\"' if several.endswith('"') else several
    forms.append('"""' + newline + quoted + '"""')
    forms.append(
        '"""' + draw(st.sampled_from(["", '"', '""'])) + "x" + draw(st.sampled_from(["", '"', '""'])) + '"""'
    )
    if "'" not in lines:
        forms.append("'''" + lines + "'''")
        forms.append("'''" + "x" + draw(st.sampled_from(["", "'", "''"])) + "'''")
    if "'" not in text and "\n" not in text and "\r" not in text:
        forms.append(f"'{text}'")
    return draw(st.sampled_from(forms))
