"""`transferscope diagnose`: why did it transfer? What the diagnostics say about a trained network, or about many."""

from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.complete import DATA, DIAGNOSTICS, NETWORKS, among
from transferscope.errors import SettingsError, refuse_unused


def diagnose(
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Trained weights: safetensors, or a state dict of torch.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The weights that training started from.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(metavar="SPEC", autocompletion=among(DATA), help="Data to measure on, as in usps or npz:PATH."),
    ] = None,
    transforms: Annotated[list[str] | None, typer.Option(help="Transformations of the data, as in resize:28.")] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="SPEC", autocompletion=among(DATA), help="The source data, to compare two tasks."),
    ] = None,
    source_transforms: Annotated[
        list[str] | None, typer.Option(help="Transformations of the source data. [those of the data]")
    ] = None,
    network: Annotated[
        str, typer.Option(autocompletion=among(NETWORKS), help="The architecture of the weights.")
    ] = "lenet",
    widths: Annotated[list[int] | None, typer.Option(help="Its widths, as in --widths 20 50 500. [the usual]")] = None,
    input: Annotated[
        str | None, typer.Option(help="How it reads inputs, as in size=64,mean=127,std=128,scale=1. [as it says]")
    ] = None,
    diagnostics: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=among(DIAGNOSTICS), help="Diagnostics by name. [all that apply and take under 2 minutes]"
        ),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="DIAGNOSTIC.NAME=VALUE", help="Change a setting, as in --set curvature.k=5."),
    ] = None,
    examples: Annotated[int, typer.Option(min=1, help="Examples to measure on.")] = 600,
    part: Annotated[str, typer.Option(help="target_train or target_test.")] = "target_train",
    labels: Annotated[
        int | None,
        typer.Option("--labels", "--n-labels", min=1, help="Labels it was trained on, drawn as in a study. [all]"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of that subset, and of maps.")] = 0,
    scaling: Annotated[
        str | None,
        typer.Option(
            metavar="own|none|MEAN/STD",
            help="How inputs are scaled: own: by their own training statistics; none: pixels as 0..1; or numbers in "
            "that unit, as in 0.1307/0.3081. [what the file says, else own]",
        ),
    ] = None,
    head: Annotated[str, typer.Option(help="Submodule whose input is the features.")] = "head",
    feature_map: Annotated[
        bool, typer.Option("--feature-map", help="With --out: a t-SNE map of the examples by their features.")
    ] = False,
    weight_map: Annotated[
        str | None, typer.Option("--map", metavar="STUDY.toml", help="A t-SNE map of the networks of a finished study.")
    ] = None,
    study: Annotated[str | None, typer.Option(help="With --map: which study, when a store holds several.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for CSV, npz, SVG and PDF. [--map: diagnosis]")] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Say what a trained network looks like, beside where it started, and what that implies for the transfer.

    Without --diagnostics it measures what applies and is quick; --against and --source make more apply.
    """
    if weight_map is not None:
        of_files = {
            "--checkpoint": checkpoint,
            "--data": data,
            "--transforms": transforms,
            "--against": against,
            "--source": source,
            "--source-transforms": source_transforms,
            "--network": None if network == "lenet" else network,
            "--widths": widths,
            "--input": input,
            "--diagnostics": diagnostics,
            "--set": change,
            "--examples": None if examples == 600 else examples,
            "--part": None if part == "target_train" else part,
            "--labels": labels,
            "--scaling": scaling,
            "--head": None if head == "head" else head,
            "--feature-map": feature_map or None,
            "--device": None if device == "auto" else device,
        }
        given = {name: value is not None for name, value in of_files.items()}
        refuse_unused(given, "--map takes the networks and the data from the study, and measures nothing else")
        _map(weight_map, out or Path("diagnosis"), study=study, seed=seed, as_json=as_json, quiet=quiet)
        return
    refuse_unused({"--study": study is not None}, "files were given; only --map reads a study")
    if source is None:
        refuse_unused({"--source-transforms": source_transforms is not None}, "there is no --source to transform")
    if checkpoint is None or data is None:
        raise SettingsError(
            "diagnose needs a network and data; give them as in `transferscope diagnose --checkpoint net.safetensors "
            "--data usps`, or a finished study as in `transferscope diagnose --map usps.toml`"
        )
    if feature_map and out is None:
        raise SettingsError("--feature-map draws a figure and there is no folder for it; give one with --out")
    if part not in ("target_train", "target_test"):
        raise SettingsError(f"--part {part} is unknown; expected target_train or target_test")
    # the command line starts faster without what a mistake, or another command, does not need
    from transferscope.analyses.diagnose.choice import read_changes
    from transferscope.analyses.diagnose.question import measure_all
    from transferscope.analyses.diagnose.subject import FileQuestion
    from transferscope.cli.answer import as_text, counted_progress, in_a_line
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
        part="target_test" if part == "target_test" else "target_train",
        head=head,
        device=device,
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
    files = [] if out is None else [out / file for file in result.write(out, feature_map=feature_map)]
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
