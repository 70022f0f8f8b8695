"""`transferscope rank`: what to transfer from, before any training on the target."""

from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_analysis
from transferscope.cli.complete import DATA, NETWORKS, SCORES, among
from transferscope.errors import SettingsError


def rank(
    place: Annotated[
        str | None, typer.Argument(metavar="[STUDY.toml|STORE]", help="A finished study, or its store.")
    ] = None,
    checkpoints: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE|NAME",
            help="Pretrained weights (safetensors, or a state dict of torch), or networks such as hf:FOLDER.",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="SPEC", autocompletion=among(DATA), help="The target, as in usps or npz:PATH.")
    ] = None,
    transforms: Annotated[list[str] | None, typer.Option(help="Transformations of it, as in resize:28.")] = None,
    network: Annotated[
        str, typer.Option(autocompletion=among(NETWORKS), help="The architecture of the weights.")
    ] = "lenet",
    widths: Annotated[list[int] | None, typer.Option(help="Its widths, as in --widths 20 50 500. [the usual]")] = None,
    input: Annotated[
        str | None, typer.Option(help="How inputs are read, as in size=64,mean=127,std=128,scale=1. [as networks say]")
    ] = None,
    head: Annotated[str | None, typer.Option(help="Name of the head, as in classifier.1. [found]")] = None,
    labels: Annotated[
        list[int] | None, typer.Option(metavar="N", help="Labelled training examples to compute scores on. [100]")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Draws of so many labels.")] = 3,
    scores: Annotated[
        list[str] | None, typer.Option(autocompletion=among(SCORES), help="Scores by name. [all]")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="With a study: hold the scores against this method. [fine-tune, if any]"),
    ] = None,
    study: Annotated[str | None, typer.Option(help="Which study, when a store holds several.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="Folder for CSV, SVG and PDF.")] = None,
    as_json: AsJson = False,
) -> None:
    """What to transfer from? Rate pretrained networks on a few labelled target examples, without training.

    With files: `transferscope rank --data usps --checkpoint a.safetensors b.safetensors`. With a finished study, also
    how well each score would have chosen, given what transfer really gave; its report shows this from then on.
    """
    from_files = {
        "--checkpoint": checkpoints,
        "--data": data,
        "--transforms": transforms,
        "--labels": labels,
        "--network": None if network == "lenet" else network,
        "--widths": widths,
        "--input": input,
        "--head": head,
    }
    if place is None:
        if not checkpoints or data is None:
            raise SettingsError(
                "rank needs pretrained networks and a target; give them as in `transferscope rank --data usps "
                "--checkpoint a.safetensors b.safetensors`, or a finished study as in `transferscope rank usps.toml`"
            )
        if labels is not None and len(labels) != 1:
            raise SettingsError(f"--labels was given {len(labels)} numbers; rank with one at a time")
    elif given := [name for name, value in {**from_files, "--seeds": None if seeds == 3 else seeds}.items() if value]:
        from transferscope.store import without_password

        shown = without_password(place)
        raise SettingsError(
            f"{shown} says which networks, labels and seeds to use, and {given[0]} was given too; leave it out"
        )
    # the command line starts faster without what a mistake, or another command, does not need
    from transferscope.analyses.rank.question import rank as ask
    from transferscope.cli.answer import as_text, counted_progress, in_a_line, write_files
    from transferscope.models import NetworkInput, NetworkSettings
    from transferscope.study.settings import DataSettings

    if out is not None:
        out.mkdir(parents=True, exist_ok=True)  # before the work begins, so that a mistake in it costs nothing
    networks = list(checkpoints or ()) if place is None else place
    try:
        with counted_progress("Rating pretrained networks", "values") as on_progress:
            result = ask(
                networks,
                None if data is None else DataSettings(data, tuple(transforms or ())),
                network=NetworkSettings(
                    network,
                    None if widths is None else tuple(widths),
                    head=head,
                    input=None if input is None else NetworkInput.from_text(input),
                ),
                labels=labels[0] if labels else 100,
                seeds=seeds,
                scores=scores or (),
                against=against,
                study=study,
                device=device,
                on_progress=on_progress,
            )
    except KeyboardInterrupt:
        typer.echo("transferscope: stopped before everything was rated", err=True)
        raise typer.Exit(130) from None
    files = [] if out is None else write_files(out, result.figures(), result.tables())
    if as_json:
        print_analysis("rank", result, files, kept=result.kept)
        return
    written = f"written: {in_a_line(files)}" if files else None
    typer.echo("\n\n".join(filter(None, [as_text(result.answer()), written, result.kept])))
