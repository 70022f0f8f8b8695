"""`transferscope papers`: the figures of the papers by author and year, as the field cites them."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError
from transferscope_papers.catalogue import PAPERS, found_at, listed

if TYPE_CHECKING:
    from transferscope_papers.made import FigureMade

app = typer.Typer(
    help="Reproduce the figures of five papers on transfer learning.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


_MARKS = {"nothing": "", "table": " [--table]", "study": " [--study]"}


@app.command("list")
def list_figures(
    protocol: Annotated[
        str,
        typer.Option(metavar="ROW", help='The settings of a row beside the paper\'s, as in "liu2019 Figure 4".'),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the papers and their figures, or the settings in which the runs of one row differ from the paper."""
    if protocol:
        from transferscope_papers.protocols import protocol_lines, protocols

        lines = protocol_lines(protocol)
        if as_json:
            of, _, item = protocol.partition(" ")
            settings = [asdict(one) | {"differs": one.differs} for one in protocols()[of, item]]
            print_json("papers list", {"protocol": settings})
        else:
            say("\n".join(lines))
        return
    if as_json:
        papers = [
            {
                "paper": name,
                "title": paper.title,
                "figures": [
                    {"figure": figure, "title": known.title, "reads": known.reads}
                    for figure, known in paper.figures.items()
                ],
            }
            for name, paper in PAPERS.items()
        ]
        print_json("papers list", {"papers": papers})
        return
    width = max(len(name) for paper in PAPERS.values() for name in paper.figures)
    for name, paper in PAPERS.items():
        say(f"{name}: {paper.title}")
        for figure, known in paper.figures.items():
            say(f"  {figure:{width}}  {known.title}{_MARKS[known.reads]}")
    say("[--table]: from the authors' rows, given with --table; [--study]: from a finished study, given with")
    say("--study; everything else is computed and simulated")


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
    """Draw a figure, and report the agreement of theory and simulation and which claims of the paper hold."""
    known, name = listed(paper, figure), f"{paper} {figure}"
    simulated = "computed and simulated"
    of_runs = {"nothing": simulated, "table": "from the authors' rows", "study": "from a finished study"}[known.reads]
    # slow imports, which other commands do not need
    if study and known.reads != "study":
        what = of_runs if known.reads == "nothing" else f"drawn {of_runs}"
        raise SettingsError(f"{name} is {what} and reads no study; leave --study {study} out")
    if known.reads == "study" and (not study or table is not None):
        what = "takes no --table; leave it out" if study else "give its file, as in --study STUDY.toml"
        raise SettingsError(f"{name} is drawn {of_runs}; {what}")
    if known.reads == "table" and table is None:
        raise SettingsError(f"{name} is drawn {of_runs}; give them with --table syn2real_finetune.csv")
    if known.reads != "nothing" and change:
        raise SettingsError(f"{name} is drawn {of_runs} and has no settings; leave --set out")
    if known.reads == "nothing" and table is not None:
        raise SettingsError(f"{name} is {simulated} and reads no table; leave --table {table} out")
    if known.reads == "study":
        from transferscope_papers.from_study import study_figure

        made = study_figure(paper, figure, study, store=store)
    elif table is not None:
        from transferscope_papers.mikami2021.rows import read_errors

        made = replace(found_at(known.place)(read_errors(table)), runs=table.name)  # type: ignore[operator]
    else:
        from transferscope_papers.make import chosen_figure, make_figure

        chosen = chosen_figure(f"{paper}-{figure}", change or [], quick=quick)
        if workers is None and quick:
            workers = 0  # most quick points take less time than starting a process
        out.mkdir(parents=True, exist_ok=True)  # fail before minutes of simulation
        try:
            made = make_figure(
                chosen, store=store or str(out / "papers.sqlite"), workers=workers, quiet=quiet or as_json
            )
        except KeyboardInterrupt as error:
            say(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
            raise typer.Exit(130) from None
    from transferscope_papers.looks import write_drawings

    written = write_drawings(made.drawings, out)
    page = _page(out / f"{paper}-{figure}.html", f"{known.title} ({name})", made)
    if as_json:
        claims = [
            {"claim": one.sentence, "source": one.source, "holds": one.holds, "exception": one.exception}
            for one in made.claims
        ]
        frames = {one.name: one.data for one in made.drawings} | dict(made.tables)
        facts = {
            "paper": paper,
            "figure": figure,
            "title": known.title,
            "agreement": "\n".join(made.sentences),
            "claims": claims,
            "points": made.points,
            "points_failed": made.points_failed,
            "rows": [{"table": of} | row for of, frame in frames.items() for row in frame.to_dict("records")],
            "written": [str(file) for file in (*written, page)],
        }
        print_json("papers draw", facts)
    else:
        say(f"{_words(f'{known.title} ({name})', made, written)}\n\nReport: {page}")
    if made.points_failed:
        raise typer.Exit(1)


def _words(title: str, made: "FigureMade", written: Sequence[Path]) -> str:
    """Return the answer for the terminal, below a title; `written` as in `looks.write_drawings`."""
    lines = [f"{title}, from {made.runs}" if made.runs else title, *made.sentences]
    lines += [
        f"{name}\n{frame.to_string(index=False, float_format='{:.4g}'.format)}" for name, frame in made.tables.items()
    ]
    lines += [f"claim {claim.words}" for claim in made.claims]
    for i, drawn in enumerate(made.drawings):
        svg, pdf, table = written[3 * i : 3 * i + 3]
        lines.append(f"{svg}, {pdf.name}, {table.name}\n{drawn.caption}")
    return "\n".join(lines)


def _page(file: Path, title: str, made: "FigureMade") -> Path:
    """Write the page of a figure: summary, drawings, claims of the paper and tables."""
    from transferscope.cli.answer import as_typed
    from transferscope.report.blocks import Cell, Column, Points, Section, Table, Text
    from transferscope.report.page import Verdict, write_page

    headline, *further = [f"From {made.runs}."] * bool(made.runs) + list(made.sentences) or [title]
    claims = tuple(claim.words for claim in made.claims)
    shown = [
        Table(
            tuple(Column(str(column)) for column in frame),
            tuple(
                tuple(Cell(f"{value:.4g}" if isinstance(value, float) else str(value)) for value in row)
                for row in frame.itertuples(index=False)
            ),
            caption,
        )
        for caption, frame in made.tables.items()
    ]
    answer = Section(
        "In short", "verdict", (Text(headline, "lead"), *made.drawings, *([Points(tuple(further))] if further else []))
    )
    claimed = Section("What the paper says of it", "claims", (Points(claims),))
    numbers = Section("Numbers", "numbers", tuple(shown))
    sections = [answer, *([claimed] if claims else []), *([numbers] if shown else [])]
    verdict = Verdict({}, headline, (*further, *claims))
    return write_page(sections, file, kicker="papers", title=title, verdict=verdict, command=as_typed()).html
