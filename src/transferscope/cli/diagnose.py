"""`transferscope diagnose`: why did it transfer? What the diagnostics say about a trained network, or about many."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.complete import DATA, DIAGNOSTICS, among
from transferscope.cli.options import (
    NETWORK,
    DeviceOption,
    HeadOption,
    InputOption,
    NetworkOption,
    OutOption,
    QuietOption,
    StudyName,
    TransformsOption,
    WidthsOption,
    refuse_others,
)
from transferscope.errors import SettingsError, refuse_unused

_OF_MAPS = {"weight_map", "seed", "study", "out", "as_json", "quiet"}


class Part(StrEnum):
    """Which examples are measured on."""

    TRAIN = "target_train"
    TEST = "target_test"


def diagnose(
    context: typer.Context,
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="NETWORK|STUDY",
            help="Trained weights: safetensors, or a state dict; with --map a finished study or its store.",
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(metavar="DATA", autocompletion=among(DATA), help="What to measure on, as in usps or npz:PATH."),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The weights that training started from.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option("--from", metavar="DATA", autocompletion=among(DATA), help="The source data, to compare tasks."),
    ] = None,
    diagnostics: Annotated[
        list[str] | None,
        typer.Option(autocompletion=among(DIAGNOSTICS), help="By name. [all that apply and are quick]"),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME.SETTING=VALUE ...", help="Settings of them, as in curvature.k=5."),
    ] = None,
    transforms: TransformsOption = None,
    source_transforms: Annotated[
        list[str] | None,
        typer.Option(help="Transformations of the source data. [those of the data]", rich_help_panel=NETWORK),
    ] = None,
    network: NetworkOption = "lenet",
    widths: WidthsOption = None,
    input: InputOption = None,
    head: HeadOption = None,
    scaling: Annotated[
        str | None,
        typer.Option(
            metavar="own|none|MEAN/STD",
            help="How inputs are scaled. [as the file says, else own]",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Examples to measure on.")] = 600,
    part: Annotated[Part, typer.Option(help="Which examples.")] = Part.TRAIN,
    labels: Annotated[int | None, typer.Option(min=1, help="Labels it was trained on. [all]")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that subset, and of maps.")] = 0,
    feature_map: Annotated[bool, typer.Option("--feature-map", help="With --out: a t-SNE map of features.")] = False,
    weight_map: Annotated[bool, typer.Option("--map", help="A t-SNE map of the networks of a study.")] = False,
    study: StudyName = None,
    device: DeviceOption = None,
    out: OutOption = None,
    quiet: QuietOption = False,
    as_json: AsJson = False,
) -> None:
    """Say what a trained network looks like, beside where it started, and what that implies for the transfer.

    Without --diagnostics it measures what applies and is quick; --against and --from make more apply.
    """
    if weight_map:
        refuse_others(
            context, _OF_MAPS, "--map takes the networks and the data from the study, and measures nothing else"
        )
        _map(str(checkpoint), out or Path("diagnosis"), study=study, seed=seed, as_json=as_json, quiet=quiet)
        return
    refuse_unused({"--study": study is not None}, "a network was given; only --map reads a study")
    if source is None:
        refuse_unused({"--source-transforms": source_transforms is not None}, "there is no --from to transform")
    if data is None:
        raise SettingsError(
            "diagnose needs data to measure on; give them as in `transferscope diagnose net.safetensors --data usps`, "
            "or a finished study as in `transferscope diagnose usps.toml --map`"
        )
    if feature_map and out is None:
        raise SettingsError("--feature-map draws a figure and there is no folder for it; give one with --out")
    # the command line starts faster without what a mistake, or another command, does not need
    from transferscope.analyses.diagnose.choice import read_changes
    from transferscope.analyses.diagnose.question import measure_all
    from transferscope.analyses.diagnose.subject import FileQuestion
    from transferscope.cli.answer import as_text, as_typed, counted_progress, in_a_line
    from transferscope.models import NetworkInput, NetworkSettings
    from transferscope.study.settings import DataSettings

    own = tuple(transforms or ())
    others = own if source_transforms is None else tuple(source_transforms)
    question = FileQuestion(
        checkpoint=checkpoint,
        data=DataSettings(data, own),
        network=NetworkSettings(
            network,
            None if widths is None else tuple(widths),
            input=None if input is None else NetworkInput.from_text(input),
        ),
        against=against,
        source=None if source is None else DataSettings(source, others),
        labels=labels,
        seed=seed,
        examples=examples,
        part=part.value,
        head=head or "head",
        device=device or "auto",
        scaling=scaling,
    )
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    try:
        with counted_progress("Measuring", "diagnostics", hidden=quiet) as on_progress:
            result = measure_all(
                question, diagnostics or (), read_changes(change or ()), folder=out, on_progress=on_progress
            )
    except KeyboardInterrupt:
        typer.echo("transferscope: stopped before everything was measured", err=True)
        raise typer.Exit(130) from None
    files = []
    if out is not None:
        page = result.report(out / "diagnosis.html", command=as_typed())
        files = [page.html, *(out / file for file in result.write(out, feature_map=feature_map))]
    if as_json:
        print_analysis("diagnose", result, files)
    else:
        typer.echo("\n\n".join([as_text(result.answer()), *([f"written: {in_a_line(files)}"] if files else [])]))
    if result.refused is not None:
        raise result.refused


def _map(
    place: str,
    out: Path,
    *,
    study: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    from transferscope.analyses.diagnose import map_weights

    def reading(done: int, total: int) -> None:
        if done == 1 and not quiet:
            typer.echo(f"reading {total} networks", err=True)

    result = map_weights(place, study=study, seed=seed, on_network=reading)
    files = result.write(out)
    if as_json:
        print_analysis("diagnose", result, [out / file for file in files])
        return
    typer.echo(f"{result.verdict}\nwritten: {out / files[0]}, {', '.join(files[1:])}")
