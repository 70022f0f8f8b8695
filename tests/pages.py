"""What a page holds, as a reader and a browser find it."""

import base64
import re
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input"}


def held_tables(page: str) -> dict[str, str]:
    """The CSV files that a page holds, by name."""
    found = re.findall(r'<a download="([^"]+)\.csv" href="data:text/csv;charset=utf-8;base64,([^"]*)"', page)
    return {name: base64.b64decode(held).decode() for name, held in found}


class Tags(HTMLParser):
    """The tags that HTML opens, those that it leaves open, its ids and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: set[str] = set()
        self.left_open: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count it."""
        self.opened.add(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in _VOID:
            self.left_open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Count what is closed at once."""
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close the last one, which it must be."""
        if tag not in _VOID:
            assert self.left_open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep it."""
        self.text += data
