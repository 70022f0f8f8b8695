"""Write the report: one HTML file, and beside it every figure as SVG and PDF with the numbers behind it."""

from dataclasses import dataclass
from pathlib import Path

from transferscope.errors import StoreError
from transferscope.report.blocks import Section
from transferscope.report.export import write_table, write_text
from transferscope.report.figures.style import save_figure
from transferscope.report.html import render_page
from transferscope.report.results import summarise
from transferscope.report.sections import SECTIONS
from transferscope.report.verdict import Verdict
from transferscope.store import Store


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """What was written.

    Attributes:
        html: The page; it needs nothing beside it.
        files: Figures (SVG, PDF) and tables (CSV), in the folder `NAME.files` beside the page.
        verdict: What the page says first.
    """

    html: Path
    files: tuple[Path, ...]
    verdict: Verdict


def build_report(store: Store, study: str, out: Path) -> ReportFiles:
    """Write the report on a study, complete or not.

    Args:
        store: Where the study is.
        study: Its name.
        out: The HTML file to write; one that exists is replaced.

    Returns:
        The files written, and the verdict.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study has no result yet, the store cannot be read, or the files cannot be written.
    """
    summary = summarise(store, study)
    sections = [section for make in SECTIONS if (section := make(summary)) is not None]
    page = render_page(summary, sections, files_folder=files_folder(out).name)
    try:
        files = _write_files(sections, files_folder(out))
        write_text(out, page)
    except OSError as error:
        raise StoreError(
            f"the report cannot be written to {out}: {error.strerror or error}; give another place with --out"
        ) from error
    return ReportFiles(out, tuple(files), summary.verdict)


def files_folder(out: Path) -> Path:
    """The folder of figures and tables that belongs to a page."""
    return out.with_suffix(".files")


def _write_files(sections: list[Section], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for section in sections:
        tables = dict(section.files)
        for figure in section.figures:
            written += save_figure(figure.canvas, figure.svg, folder, figure.name)
            tables[figure.name] = figure.data
        for name, table in tables.items():
            write_table(table, folder / f"{name}.csv")
            written.append(folder / f"{name}.csv")
    return written
