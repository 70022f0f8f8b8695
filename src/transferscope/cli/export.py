"""`transferscope export` and `transferscope predict`: a network of a study to a folder, and its predictions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.complete import DATA, METHODS, among
from transferscope.cli.options import StudyName, file_in
from transferscope.cli.plugins import TRUST_CODE

if TYPE_CHECKING:
    from transferscope.study.export import Choice
    from transferscope.study.kept import Run
    from transferscope.trained import ModelCard


def export(
    place: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file or a store.")],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write; made if it is not there.")],
    method: Annotated[
        str | None,
        typer.Option(autocompletion=among(METHODS), help="The method's name. [the recommended arm]"),
    ] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="What to transfer from. [that of the recommended arm]")
    ] = None,
    labels: Annotated[int | None, typer.Option(min=1, help="Number of labels. [the most that are settled]")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The seed of the run. [the lowest]")] = None,
    study: StudyName = None,
    as_json: AsJson = False,
) -> None:
    """Write the network of a finished run to a folder, for `transferscope predict` and `load_model` in Python.

    Where the study kept no network of the run, it is trained again, and comes out the same.
    """
    from transferscope.cli.answer import counted_progress
    from transferscope.study.export import export as export_run
    from transferscope.wording import duration

    def say(choice: "Choice", again: bool) -> None:
        run, cost = choice.run, choice.run.cell.cost
        if choice.chance is not None:
            typer.echo(f"the study recommends {_way(run)} (chance {100 * choice.chance:.0f} %)")
        took = f": about {duration(cost.seconds)}, as in the study" if again and cost is not None else ""
        typer.echo(f"{'training again' if again else 'writing'} {_way(run)}, seed {run.seed}{took}")

    with counted_progress("Training again", "steps") as on_progress:
        found = export_run(
            place,
            out,
            study=study,
            method=method,
            source=source,
            labels=labels,
            seed=seed,
            on_start=say,
            on_progress=on_progress,
        )
    card = found.model.card
    if as_json:
        facts = {"n_test": found.n_test, "n_equal": found.n_equal, "trained_again": found.trained_again}
        print_json("export", {"folder": str(found.folder), **_card(card), **facts})
        return
    error = "" if card.stderr is None else f" ± {card.stderr:.2g}"
    typer.echo(
        f"{card.metric.replace('_', ' ')} on the study's {found.n_test:,} test examples: {card.score:.4g}{error} "
        f"(mean of {card.n_runs} runs: {card.mean_score:.4g})"
    )
    if found.n_equal == found.n_test:
        typer.echo("its predictions of the test examples are those of the study, all of them")
    else:
        typer.echo(
            f"warning: it predicts {found.n_equal:,} of the {found.n_test:,} test examples as the study did; it was "
            "trained on another machine or with other versions, and is not quite the network of the study",
            err=True,
        )
    if card.classes is not None:
        typer.echo(
            f"its probabilities are those of the outputs divided by {card.temperature:.3g}, which fits these examples "
            "best and changes no prediction"
        )
    if card.transformers is not None:
        head = "" if card.transformers.head is not None else "; its head is a linear layer in head.safetensors"
        typer.echo(
            f"transformers reads it: {card.transformers.architecture}.from_pretrained({str(found.folder)!r}){head}"
        )
    trust = f" {TRUST_CODE}" if card.code else ""  # it runs code that the folder names
    typer.echo(f"\nNetwork: {found.folder}")
    typer.echo(f"Predict with: transferscope predict {found.folder} DATA --out predictions.csv{trust}")


def predict(
    folder: Annotated[Path, typer.Argument(help="What `transferscope export` wrote.")],
    data: Annotated[
        str,
        typer.Argument(
            autocompletion=among(DATA), help="A folder of images, one image, npz:PATH, csv:PATH, or other data by name."
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER|FILE.csv", help="The table to write, with a row for each input."),
    ],
    as_json: AsJson = False,
) -> None:
    """Predict for new inputs, which need no labels: a class or labels with the probability of each, or numbers."""
    import numpy as np
    import pandas as pd

    from transferscope.data.unlabelled import read_unlabelled
    from transferscope.report.save import write_table
    from transferscope.trained import load_model, probabilities
    from transferscope.wording import counted

    model = load_model(folder)
    found = read_unlabelled(data, model.card.inputs)
    for remark in found.remarks:
        typer.echo(f"note: {remark}", err=True)
    outputs = model.outputs_of_read(found.inputs)
    table: dict[str, object] = {"input": found.names}
    if model.card.classes is None:
        table |= {f"output_{i}": outputs[:, i] for i in range(outputs.shape[1])}
    else:
        likely = probabilities(outputs, model.card)
        names = np.array(model.card.classes)
        if model.card.multi_label:
            table["prediction"] = ["|".join(names[row]) for row in outputs > 0]
        else:
            table["prediction"] = names[outputs.argmax(axis=1)]
        table |= {f"p_{name}": likely[:, i] for i, name in enumerate(model.card.classes)}
    out = file_in(out, "predictions.csv")
    write_table(pd.DataFrame(table), out)
    card, n = model.card, len(found.names)
    if as_json:
        print_json("predict", {"predictions": n, "network": _card(card), "written": [str(out)]})
        return
    typer.echo(
        f"{counted(n, 'prediction')} of {_way(card)} ({card.metric.replace('_', ' ')} {card.mean_score:.4g} in "
        f"{card.study}): {out}"
    )


def _card(card: "ModelCard") -> dict[str, Any]:
    names = ("study", "method", "source", "n_labels", "seed", "metric", "score", "stderr", "mean_score", "n_runs")
    return {name: getattr(card, name) for name in names}


def _way(trained: "Run | ModelCard") -> str:
    return f"{trained.method}{f' from {trained.source}' if trained.source else ''} with {trained.n_labels:,} labels"
