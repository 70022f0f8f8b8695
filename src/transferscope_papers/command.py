"""`transferscope papers`: the figures of the papers by author and year, as the field cites them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.errors import SettingsError
from transferscope_papers.catalogue import PAPERS, Listed, listed

if TYPE_CHECKING:
    import pandas as pd

    from transferscope.report.blocks import Figure

app = typer.Typer(
    help="Draw the figures of five papers on transfer learning again.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


_MARKS = {"nothing": "", "table": " [--table]", "study": " [--study]"}


@app.command("list")
def list_figures(as_json: AsJson = False) -> None:
    """The papers, and what can be drawn of each."""
    if as_json:
        papers = [
            {"paper": name, "title": paper.title, "figures": [_said(*figure) for figure in paper.figures.items()]}
            for name, paper in PAPERS.items()
        ]
        print_json("papers list", {"papers": papers})
        return
    width = max(len(name) for paper in PAPERS.values() for name in paper.figures)
    for name, paper in PAPERS.items():
        typer.echo(f"{name}: {paper.title}")
        for figure, known in paper.figures.items():
            typer.echo(f"  {figure:{width}}  {known.title}{_MARKS[known.reads]}")
    typer.echo("[--table]: from the authors' rows, given with --table; [--study]: from a finished study, given with")
    typer.echo("--study; everything else is computed and simulated")


def _said(name: str, figure: Listed) -> dict[str, Any]:
    return {"figure": name, "title": figure.title, "reads": figure.reads}


@app.command()
def draw(
    paper: Annotated[str, typer.Argument(help="First author and year, as in tahir2024; see `papers list`.")],
    figure: Annotated[str, typer.Argument(help="A figure, table or theorem of it, as in fig4.")],
    quick: Annotated[bool, typer.Option("--quick/--full", help="Small sizes, or the paper's.")] = True,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting, as in --set sigma=0.5.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="The authors' rows, for the figures marked [--table] in `papers list`.")
    ] = None,
    study: Annotated[
        str,
        typer.Option(
            metavar="STUDY.toml",
            help="A finished study, or its store, for the figures marked [--study] in `papers list`.",
        ),
    ] = "",
    out: Annotated[Path, typer.Option(help="Folder for the page, SVG, PDF and CSV.")] = Path("papers"),
    store: Annotated[
        str,
        typer.Option(
            help="Where simulated points are kept [in the folder of --out], or the study is [where its file says]."
        ),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(help="Processes. [with --quick this one; with --full as many as the machine has room for]"),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show failures only.")] = False,
    as_json: AsJson = False,
) -> None:
    """Draw a figure, say how theory and simulation agree, and which claims of the paper hold on what is drawn."""
    known, name = listed(paper, figure), f"{paper} {figure}"
    # the command line starts faster without the numerics of a command that is not used
    if study and known.reads != "study":
        what = "from the authors' rows" if known.reads == "table" else "computed and simulated"
        raise SettingsError(f"{name} is {what}, and reads no study; leave --study {study} out")
    if known.reads != "nothing":
        of_runs = "from a finished study" if known.reads == "study" else "from the authors' rows"
        if known.reads == "study" and (not study or table is not None):
            what = "takes no --table; leave it out" if study else "give its file, as in --study STUDY.toml"
            raise SettingsError(f"{name} is drawn from a finished study; {what}")
        if known.reads == "table" and table is None:
            raise SettingsError(f"{name} is drawn from the authors' rows; give them with --table syn2real_finetune.csv")
        if change:
            raise SettingsError(f"{name} is drawn {of_runs} and has no settings; leave --set out")
        from transferscope_papers.from_study import write_study_figure
        from transferscope_papers.mikami2021.figures import write_paper_figure

        if table is None:
            drawn = write_study_figure(paper, figure, study, out, store=store)
        else:
            drawn = write_paper_figure(table, figure, out)
        claims = [one.words for one in drawn.figure.claims]
        page = _page(
            out / f"{paper}-{figure}.html",
            f"{known.title} ({name})",
            [f"From {drawn.runs}.", *drawn.figure.sentences],
            claims,
            drawn.figure.drawings,
            drawn.figure.tables,
        )
        if not as_json:
            typer.echo(f"{drawn.words(f'{known.title} ({name})')}\n\nReport: {page}")
            return
        held = [
            {"claim": one.sentence, "source": one.source, "holds": one.holds, "exception": ""}
            for one in drawn.figure.claims
        ]
        frames = {one.name: one.data for one in drawn.figure.drawings} | dict(drawn.figure.tables)
        rows = [{"table": of} | row for of, frame in frames.items() for row in frame.to_dict("records")]
        facts = {"agreement": " ".join(drawn.figure.sentences), "claims": held, "points": 0, "points_failed": 0}
        _answer(paper, figure, known, facts | {"rows": rows}, [*drawn.written, page])
        return
    if table is not None:
        raise SettingsError(f"{name} is computed and simulated, and reads no table; leave --table {table} out")
    from transferscope_papers.make import chosen_figure, make_figure

    chosen = chosen_figure(f"{paper}-{figure}", change or [], quick=quick)
    if workers is None and quick:
        workers = 0  # a process takes longer to start than most quick points take to simulate
    try:
        made = make_figure(chosen, out, store=store, workers=workers, quiet=quiet or as_json)
    except KeyboardInterrupt as error:
        typer.echo(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
        raise typer.Exit(130) from None
    page = _page(
        out / f"{paper}-{figure}.html",
        f"{known.title} ({name})",
        made.agreement.splitlines(),
        [one.sentence for one in made.claims],
        [made.drawing],
        {},
    )
    if as_json:
        claimed = [
            {
                "claim": one.claim.sentence,
                "source": one.claim.source,
                "holds": one.holds,
                "exception": one.claim.exception,
            }
            for one in made.claims
        ]
        points = {"points": made.n_points, "points_failed": made.n_failed}
        facts = {"agreement": made.agreement, "claims": claimed, **points, "rows": made.drawing.data.to_dict("records")}
        _answer(paper, figure, known, facts, [*made.written, page])
    else:
        typer.echo(f"{made.words(f'{known.title} ({name})')}\n\nReport: {page}")
    if made.n_failed:
        raise typer.Exit(1)


def _page(
    file: Path,
    title: str,
    sentences: Sequence[str],
    claims: Sequence[str],
    drawings: Sequence["Figure"],
    tables: Mapping[str, "pd.DataFrame"],
) -> Path:
    """Write the page of a figure: what it shows, the drawings, the claims of the paper and the numbers to print."""
    from transferscope.cli.answer import as_typed
    from transferscope.report.blocks import Cell, Column, Points, Section, Table, Text
    from transferscope.report.page import Verdict, write_page

    headline, *further = sentences
    shown = [
        Table(
            tuple(Column(str(column)) for column in frame),
            tuple(
                tuple(Cell(f"{value:.4g}" if isinstance(value, float) else str(value)) for value in row)
                for row in frame.itertuples(index=False)
            ),
            caption,
        )
        for caption, frame in tables.items()
    ]
    answer = Section(
        "In short", "verdict", (Text(headline, "lead"), *drawings, *([Points(tuple(further))] if further else []))
    )
    claimed = Section("What the paper says of it", "claims", (Points(tuple(claims)),))
    numbers = Section("Numbers", "numbers", tuple(shown))
    sections = [answer, *([claimed] if claims else []), *([numbers] if shown else [])]
    verdict = Verdict({}, headline, (*further, *claims))
    return write_page(sections, file, kicker="papers", title=title, verdict=verdict, command=as_typed()).html


def _answer(paper: str, figure: str, known: Listed, facts: dict[str, Any], written: Sequence[Path]) -> None:
    of = {"paper": paper, "figure": figure, "title": known.title}
    print_json("papers draw", {**of, **facts, "written": [str(file) for file in written]})
