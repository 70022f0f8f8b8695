"""The work behind `transferscope rank`: rate, say and write."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from transferscope.analyses.rank import rank
from transferscope.report.blocks import Cell, Figure, Table
from transferscope.report.figures.ranking import draw_ranking
from transferscope.report.ranking import choice_rows, ranking_rows, transferred_rows
from transferscope.report.save import file_name, save_figure, write_table
from transferscope.report.sections.ranking import choices_table, scores_table
from transferscope.scores.ranking import StudyRanking
from transferscope.study.rank_files import RankQuestion, rank_checkpoints
from transferscope.study.ranking_words import LIMITS

_SAID_EVERY = 0.1  # of all values, in a log


def answer_files(question: RankQuestion, *, out: Path | None) -> str:
    """Rank pretrained networks from files.

    Args:
        question: Which networks, which target.
        out: Folder for figure and table, made if it does not exist; None to write nothing.

    Returns:
        What to tell the reader.
    """
    _make(out)
    with _shown() as on_progress:
        ranking = rank_checkpoints(question, on_progress=on_progress)
    parts = [as_text(scores_table(ranking, None)), "\n".join(ranking.words), LIMITS]
    if out is not None:
        figure = draw_ranking(ranking)
        parts.append(f"written: {_write(figure, out, 'ranking')}")
    return "\n\n".join(parts)


def answer_study(
    place: str, study: str | None, *, scores: Sequence[str], against: str | None, device: str, out: Path | None
) -> str:
    """Rank the pretrained networks of a study, and keep the ranking with it for its report.

    Args:
        place: A study file, or the path or URL of a store.
        study: Which study of the store; None for the only one.
        scores: By name; empty for all.
        against: The method whose results count; None for the usual.
        device: Where networks are run.
        out: Folder for figures and tables, made if it does not exist; None to write nothing.

    Returns:
        What to tell the reader.
    """
    _make(out)
    with _shown() as on_progress:
        result = rank(place, scores=scores, against=against, study=study, device=device, on_progress=on_progress)
    found, name = result.ranking, result.target
    parts = []
    for ranking in found.rankings:
        parts += [as_text(scores_table(ranking, found.hindsight)), "\n".join(ranking.words)]
    if found.hindsight is not None:
        parts.append(as_text(choices_table(found.hindsight)))
    elif len(found.rankings[0].candidates) > 2:  # the random features are one of them
        parts.append(
            "Nothing was measured to hold the scores against: that takes one of fine-tune, l2-sp, merlin and "
            "linear-probe, or --against METHOD, with results from every source."
        )
    parts += ["\n".join(found.words)] if found.words else []
    parts += [found.limits]
    if out is not None:
        parts.append(f"written: {_write_study(found, out, file_name(name))}")
    return "\n\n".join([*parts, result.kept])


def as_text(table: Table) -> str:
    """A table of the report as a terminal shows it: columns in line, quieter lines in brackets but for row headings."""
    rows = [[row[0].text, *(_in_a_line(cell) for cell in row[1:])] for row in table.rows]
    lines = [[column.title for column in table.columns], *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _in_a_line(cell: Cell) -> str:
    return f"{cell.text} ({cell.detail})" if cell.detail else cell.text


def _make(out: Path | None) -> None:
    """The folder, made before the work begins, so that a mistake in it costs nothing."""
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)


@contextmanager
def _shown() -> Iterator[Callable[[int, int], None]]:
    """A bar with the time left on a terminal, and a line for every tenth in a log; on the standard error stream."""
    with Progress(*Progress.get_default_columns(), console=Console(stderr=True), transient=True) as bar:
        task, said = bar.add_task("Rating pretrained networks"), 0.0

        def show(done: int, total: int) -> None:
            nonlocal said
            bar.update(task, completed=done, total=total)
            if not bar.console.is_terminal and done / total >= said + _SAID_EVERY:
                said = done / total
                bar.console.print(f"rating pretrained networks: {done} of {total} values done")

        yield show


def _write_study(found: StudyRanking, out: Path, name: str) -> str:
    written = [
        _write(draw_ranking(ranking, found.hindsight), out, f"{name}-ranking-{ranking.n_target}")
        for ranking in found.rankings
    ]
    tables = {"scores": ranking_rows(found.rankings)}
    if found.hindsight is not None:
        tables["transfer"] = transferred_rows(found.hindsight.transferred)
        tables["choices"] = choice_rows(found.hindsight.choices)
    for kind, table in tables.items():
        file = out / f"{name}-ranking-{kind}.csv"
        write_table(table, file)
        written.append(file.name)
    return ", ".join(written)


def _write(figure: Figure, out: Path, name: str) -> str:
    svg, pdf = save_figure(figure.canvas, figure.svg, out, name)
    table = out / f"{name}.csv"
    write_table(figure.data, table)
    return f"{svg}, {pdf.name}, {table.name}"
