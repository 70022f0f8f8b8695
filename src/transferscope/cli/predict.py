"""`transferscope predict`: predictions of an exported network for new inputs."""

import numpy as np
import pandas as pd

from transferscope.cli.as_json import print_json
from transferscope.cli.commands.predict import Options
from transferscope.cli.export import card_facts, in_words
from transferscope.cli.options import file_in
from transferscope.cli.terminal import say
from transferscope.data.unlabelled import read_unlabelled
from transferscope.machine import keep_freed_memory
from transferscope.report.save import write_table
from transferscope.trained import load_model, probabilities
from transferscope.wording import counted


def predict(options: Options, _: object = None) -> None:
    """Write a table with one row per input."""
    model = load_model(options.folder)
    read = read_unlabelled(options.data, model.card.inputs)
    remarks = [*read.remarks, *model.scale.remarks(read.inputs)]
    for remark in remarks:
        say(f"note: {remark}", err=True)
    keep_freed_memory()
    outputs = model.outputs_of_read(read.inputs)
    table: dict[str, object] = {"input": read.names}
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
    out = file_in(options.out, "predictions.csv")
    write_table(pd.DataFrame(table), out)
    card, n = model.card, len(read.names)
    if options.as_json:
        facts = {"predictions": n, "network": card_facts(card), "remarks": remarks, "written": [str(out)]}
        print_json("predict", facts)
        return
    say(
        f"{counted(n, 'prediction')} of {in_words(card)} ({card.metric.replace('_', ' ')} {card.mean_score:.4g} in "
        f"{card.study}): {out}"
    )
