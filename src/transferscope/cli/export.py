"""`transferscope export`: a network of a study to a folder."""

from shlex import quote
from typing import Any

from torch import nn

from transferscope.cli.answer import counted_progress
from transferscope.cli.as_json import print_json
from transferscope.cli.commands.export import Options
from transferscope.cli.plugins import TRUST_CODE
from transferscope.cli.terminal import say
from transferscope.study.export import Choice, Run
from transferscope.study.export import export as export_run
from transferscope.trained import ModelCard
from transferscope.wording import counted, duration


def export(options: Options, _: object = None) -> None:
    """Export a network, and print the command that predicts with it."""

    def begin(choice: Choice, again: bool) -> None:
        run, cost = choice.run, choice.run.cell.cost
        if choice.instead_of is not None:
            say(f"the study recommends {choice.instead_of}, which no file of weights holds")
            say(f"{in_words(run)} is the best that can be exported, and within the margin of it")
        elif choice.chance is not None:
            say(f"the study recommends {in_words(run)} (chance {100 * choice.chance:.0f} %)")
        took = f": about {duration(cost.seconds)}, as in the study" if again and cost is not None else ""
        say(f"{'training again' if again else 'writing'} {in_words(run)}, seed {run.seed}{took}")

    with counted_progress("Training again", "steps") as on_progress:
        exported = export_run(
            options.place,
            options.out,
            study=options.study,
            method=options.method,
            source=options.source,
            labels=options.labels,
            seed=options.seed,
            on_start=begin,
            on_progress=on_progress,
        )
    card = exported.model.card
    if options.as_json:
        facts = {"n_test": exported.n_test, "n_equal": exported.n_equal, "trained_again": exported.trained_again}
        print_json("export", {"folder": str(exported.folder), **card_facts(card), **facts})
        return
    error = "" if card.stderr is None else f" ± {card.stderr:.2g}"
    say(
        f"{card.metric.replace('_', ' ')} on the study's {exported.n_test:,} test examples: {card.score:.4g}{error} "
        f"(mean of {counted(card.n_runs, 'run')}: {card.mean_score:.4g})"
    )
    if exported.n_equal == exported.n_test:
        say("its predictions of the test examples are those of the study, all of them")
    else:
        say(
            f"warning: it predicts {exported.n_equal:,} of the {exported.n_test:,} test examples as the study did; it "
            "was trained on another machine or with other versions, and is not quite the network of the study",
            err=True,
        )
    if card.transformers is not None:
        kind = "a linear layer" if isinstance(exported.model.network.head, nn.Linear) else "nearest neighbours"
        head = "" if card.transformers.head is not None else f"; its head is {kind} in head.safetensors"
        say(f"transformers reads it: {card.transformers.architecture}.from_pretrained({str(exported.folder)!r}){head}")
    trust = f" {TRUST_CODE}" if card.code else ""  # it runs code that the folder names
    say(f"\nNetwork: {exported.folder}")
    say(f"Predict with: transferscope predict {quote(str(exported.folder))} DATA --out predictions.csv{trust}")


def card_facts(card: ModelCard) -> dict[str, Any]:
    """Return the facts of a network's card about its run."""
    names = ("study", "method", "source", "n_labels", "seed", "metric", "score", "stderr", "mean_score", "n_runs")
    return {name: getattr(card, name) for name in names}


def in_words(trained: Run | ModelCard) -> str:
    """Return a run as in "fine-tune from mnist with 100 labels"."""
    return f"{trained.method}{f' from {trained.source}' if trained.source else ''} with {trained.n_labels:,} labels"
