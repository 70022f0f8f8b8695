"""What a page holds to be saved from it."""

import base64
import re


def held_tables(page: str) -> dict[str, str]:
    """The CSV files that a page holds, by name."""
    found = re.findall(r'<a download="([^"]+)\.csv" href="data:text/csv;charset=utf-8;base64,([^"]*)"', page)
    return {name: base64.b64decode(held).decode() for name, held in found}
