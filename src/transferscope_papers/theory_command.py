"""`transferscope theory`: a user's own pair on the linear-transfer diagram, and bounds that rank its sources."""

from pathlib import Path
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson, print_analysis, print_json

app = typer.Typer(
    help="What exact models say of your own pair of tasks.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command()
def place(
    finished: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A finished study, or its store.")],
    out: Annotated[Path, typer.Option(help="Folder for SVG, PDF and CSV.")] = Path("theory"),
    examples: Annotated[int, typer.Option(help="Target examples to estimate from.")] = 2000,
    directions: Annotated[float | None, typer.Option(help="d, the directions of the inputs. [estimated]")] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    as_json: AsJson = False,
) -> None:
    """Put the pairs of a finished study on the linear-transfer diagram.

    Whether that model describes them, what it says, how surely, and how far the measured transferability is from it.
    Writes a page, SVG, PDF and CSV.
    """
    # here, because they take a second to import
    from transferscope.cli.answer import as_text, as_typed, counted_progress, in_a_line, write_files
    from transferscope.report.save import file_name
    from transferscope_papers.place.figure import draw_diagram
    from transferscope_papers.place.question import place as ask

    out.mkdir(parents=True, exist_ok=True)
    with counted_progress("Estimating from pretrained features", "parts") as on_progress:
        result = ask(finished, examples=examples, input_dimension=directions, study=study, on_progress=on_progress)
    diagram = draw_diagram(result.pairs, result.points)
    name = f"{file_name(result.study)}-placement"
    page = result.report(out / f"{name}.html", command=as_typed())
    written = [page.html, *write_files(out, {name: diagram})]
    if as_json:
        print_analysis("theory place", result, written)
        return
    typer.echo(f"{as_text(result.answer())}\n\n{in_a_line(written)}")


@app.command()
def bounds(
    target: Annotated[str, typer.Option(help="Data of the target, as in usps or csv:houses.csv?label=price.")],
    source: Annotated[list[str], typer.Option(help="Data of a source with the same inputs and labels; repeat it.")],
    labels: Annotated[int, typer.Option(help="Target labels n that fine-tuning sees.")] = 100,
    transforms: Annotated[list[str] | None, typer.Option(help="Of all inputs, in order; repeat it.")] = None,
    examples: Annotated[int, typer.Option(help="Source examples, and target examples for its teacher.")] = 1000,
    repeats: Annotated[int, typer.Option(help="Draws of the n labels; errors are those of their mean.")] = 5,
    constant: Annotated[float, typer.Option(help="c of Theorem 4.2, which the theorem leaves open.")] = 1.0,
    out: Annotated[Path | None, typer.Option(help="Write the table to this folder, as bounds.csv.")] = None,
    as_json: AsJson = False,
) -> None:
    """Bound the risk of fine-tuning from each source.

    The bounds (Shachaf et al. 2021, Theorems 4.2 and 6.1, Corollary 6.3) are loose as numbers; they are for ranking
    sources. Teachers, covariance and the trained network are estimated from the data.
    """
    # here, because it takes a second to import
    import pandas as pd

    from transferscope.data.load import load
    from transferscope.data.splits import few_shot
    from transferscope.data.task import check_label_units
    from transferscope.errors import SettingsError
    from transferscope.report.save import write_table
    from transferscope.study.read_alike import in_features_of
    from transferscope_papers.theory.pair_bounds import estimate_pair, pair_bounds, same_classes

    if repeats < 2 or constant <= 0 or examples < 2 or labels < 2:
        raise SettingsError(
            f"--repeats {repeats} --constant {constant:g} --examples {examples} --labels {labels}: expected at least 2 "
            "repeats, 2 examples and 2 labels, and a constant above 0"
        )
    task = load(target, transforms=tuple(transforms or ()))
    train = task.train
    known = few_shot(train, min(examples, len(train)), seed=0)
    drawn = [few_shot(train, labels, seed=seed + 1) for seed in range(repeats)]
    found, otherwise_named = {}, []
    for name in dict.fromkeys(source):
        other = load(in_features_of(name, target), transforms=tuple(transforms or ()))
        check_label_units(other, task)
        given = other.train
        if not same_classes(given, train):
            otherwise_named.append(name)
        pair = estimate_pair(few_shot(given, min(examples, len(given)), seed=0), known)
        found[name] = pd.DataFrame([pair_bounds(pair, own, constant=constant) for own in drawn])
    parts = {name: pd.DataFrame({"value": own.mean(), "stderr": own.sem()}) for name, own in found.items()}
    table = pd.concat(parts, names=["source", "bound"]).reset_index()
    written = [] if out is None else [str(out / "bounds.csv")]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_table(table, out / "bounds.csv")
    if as_json:
        rows = table.to_dict(orient="records")
        facts = {
            "target": target,
            "labels": labels,
            "repeats": repeats,
            "rows": rows,
            "otherwise_named": otherwise_named,
            "written": written,
        }
        print_json("theory bounds", facts)
        return
    typer.echo(
        f"Bounds on the risk of fine-tuning on {labels} labels of {target}, mean and standard error over {repeats} "
        "draws of them; smaller is better.\nAs numbers they are loose (one above 1 bounds nothing): they are for "
        "ranking sources. Teachers and covariance are estimated once, and their error is not counted.\n"
    )
    pairs = zip(table["value"], table["stderr"], strict=True)
    shown = table.assign(text=[f"{v:.3g} ({e:.1g})" if e > 1e-9 * v else f"{v:.3g}" for v, e in pairs])
    wide = shown.pivot(index="bound", columns="source", values="text").loc[list(parts[source[0]].index), list(parts)]
    typer.echo(wide.rename_axis(index=None, columns=None).to_string())
    if otherwise_named:
        typer.echo(
            f"\nThe classes of {', '.join(otherwise_named)} have other names than the target's: the first is held for "
            "the first of the target's, and so on, so that another order of their names would give other bounds."
        )
    if len(found) > 1:
        typer.echo("\n" + "\n".join(_preferred(found)))


def _preferred(found: dict[str, Any]) -> list[str]:
    """Which source each bound prefers, or that the draws, which all sources share, do not tell."""
    from scipy import stats

    lines = []
    for bound in next(iter(found.values())):
        if bound.endswith("from scratch"):
            continue  # the same for every source
        best, second = sorted(found, key=lambda name: float(found[name][bound].mean()))[:2]
        apart = found[second][bound] - found[best][bound]
        told = apart.mean() > stats.t.ppf(0.975, len(apart) - 1) * apart.sem()
        lines.append(f"{bound}: prefers {best}" if told else f"{bound}: does not tell {best} from {second}")
    return lines
