# SPDX-License-Identifier: Apache-2.0
"""What a forge makes of a page of Markdown: its HTML, read for what a person would see and press.

Rendered by markdown-it with raw HTML and tables on, as forges have them; forges mention, link and count references
in text outside of code only, so text is told apart by whether it stands in ``code`` or ``pre``.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

VOID = {"br", "hr", "img"}


@dataclass(kw_only=True)
class Page:
    """What the HTML holds."""

    tags: set[str] = field(default_factory=set)
    """Every element that occurs."""
    attributes: set[str] = field(default_factory=set)
    """Every attribute that occurs, as ``element name``."""
    outside: str = ""
    """Text outside of code."""
    inside: list[str] = field(default_factory=list)
    """Each stretch of code."""
    comments: list[str] = field(default_factory=list)
    """Comments and other markup that is no element."""
    unclosed: list[str] = field(default_factory=list)
    """Elements that were not closed in their order."""


def page_from(markdown: str) -> Page:
    """Render and read a page."""
    reader = _Reader()
    reader.feed(MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown))
    reader.close()
    reader.page.unclosed += reader.open
    return reader.page


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.page.tags.add(tag)
        self.page.attributes |= {f"{tag} {name}" for name, _ in attrs}
        if tag in ("code", "pre"):
            self.page.inside.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if self.open[-1:] == [tag]:
            self.open.pop()
        else:
            self.page.unclosed.append(tag)

    def handle_data(self, data):
        if {"code", "pre"} & set(self.open):
            self.page.inside[-1] += data
        else:
            self.page.outside += data

    def handle_comment(self, data):
        self.page.comments.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment
