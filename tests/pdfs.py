"""What a PDF of a figure shows, by poppler: its width, its words, and dark lines that the drawing does not have."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
from jaxtyping import Bool
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from transferscope.report.figures.style import drawing

HAS_POPPLER = all(map(shutil.which, ("pdftoppm", "pdftotext")))
_DPI, _DARK, _LEAST = 100, 110, 30
_NEAR = 3
"""Pixels by which two renderers may place one line."""


def check_pdf(canvas: Figure, inches: float, folder: Path) -> None:
    """Assert that a drawing is as wide as asked, that all its words are on the page, and that nothing frames them."""
    pdf, png = folder / "figure.pdf", folder / "figure.png"
    canvas.draw_without_rendering()
    canvas.set_layout_engine("none")  # each renderer would lay it out by its own letters
    with drawing():
        canvas.savefig(pdf)
        canvas.savefig(png, dpi=_DPI, facecolor="white")
    read = subprocess.run(["pdftotext", "-bbox", pdf, "-"], capture_output=True, text=True, check=True).stdout
    (page,) = re.findall(r'<page width="([\d.]+)" height="([\d.]+)"', read)
    width, height = map(float, page)
    assert abs(width - 72 * inches) < 0.5
    words = re.findall(r'xMin="(.*?)" yMin="(.*?)" xMax="(.*?)" yMax="(.*?)">(.*?)</word>', read)
    outside = [word for *box, word in words if not _within([float(one) for one in box], width, height)]
    assert not outside, outside
    shown = "".join(word for *_, word in words)
    assert not [word for word in _letters(canvas) if word not in shown]
    subprocess.run(["pdftoppm", "-r", str(_DPI), "-gray", "-png", "-singlefile", pdf, folder / "seen"], check=True)
    seen, drawn = (np.asarray(Image.open(file).convert("L")) < _DARK for file in (folder / "seen.png", png))
    lines = _lines(seen) & ~_near(drawn)
    assert lines.sum() < _LEAST, f"{lines.sum()} dark pixels of lines that the drawing does not have"


def _within(box: list[float], width: float, height: float) -> bool:
    left, top, right, bottom = box
    return left >= -1 and top >= -1 and right <= width + 1 and bottom <= height + 1


def _letters(canvas: Figure) -> set[str]:
    """Return the words of titles, labels and legends that are made of letters alone."""
    canvas.draw_without_rendering()
    texts = [text for text in canvas.findobj(Text) if isinstance(text, Text) and text.get_visible()]
    axes = {text for one in canvas.axes if not one.get_visible() for text in one.findobj(Text)}
    words = {word for text in texts if text not in axes for word in text.get_text().split()}
    return {word for word in words if re.fullmatch(r"[A-Za-z]{3,}", word)}


def _lines(dark: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    """Return the pixels of straight lines of _LEAST dark pixels or more."""
    found = np.zeros_like(dark)
    for turned, out in ((dark, found), (dark.T, found.T)):
        runs = np.lib.stride_tricks.sliding_window_view(turned, _LEAST, axis=1).all(axis=2)
        for row, column in np.argwhere(runs):
            out[row, column : column + _LEAST] = True
    return found


def _near(dark: Bool[np.ndarray, "h w"]) -> Bool[np.ndarray, "h w"]:
    wide = np.pad(dark, _NEAR)
    size = 2 * _NEAR + 1
    return np.asarray(np.lib.stride_tricks.sliding_window_view(wide, (size, size)).any(axis=(2, 3)))
