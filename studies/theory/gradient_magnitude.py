"""The magnitude of gradients in a middle layer, before the first step: Figures 7a and 7b of Liu et al. (2019).

    TRANSFERSCOPE_DATA=FOLDER python studies/theory/gradient_magnitude.py docs/results/runs/imagenet-gradients.csv

A row for each of six targets, random start and weights (random, or of ImageNet below a new head): mean and 10 % and
90 % quantiles over 128 training images of ||dL_i/dz_i||, z the outputs of the middle layer of EfficientNet-lite0, as
the 25th is of ResNet-50, with the statistics of the batch in both, as in training. Starts that are in the file are
left as they are. The predicate is `liu_figure_7ab` in verdicts.py.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from verdicts import TARGETS, study_of

from transferscope.data import load
from transferscope.diagnostics import Subject
from transferscope.diagnostics.gradient_scaling import GradientScaling
from transferscope.models import NetworkInput, NetworkSettings, build_network
from transferscope.models.build import input_of
from transferscope.models.pretrained import Pretrained, open_pretrained
from transferscope.study.facts import examples_as_read
from transferscope.study.fitting import spread_examples
from transferscope.training import scale_of

N_IMAGES, STARTS = 128, 3
NETWORK = NetworkSettings(
    f"{Path(__file__).parents[2] / 'examples' / 'imagenet.py'}:efficientnet_lite0", input=NetworkInput(size=64)
)


def magnitudes(target: str, start: int) -> list[dict[str, object]]:
    """Return the rows of one target and start."""
    data = load(study_of(f"imagenet-why-{target}")["target"]["data"])
    images = examples_as_read(data.train.take(np.arange(N_IMAGES)), input_of(NETWORK), data.name)
    networks = {
        "random": build_network(NETWORK, images.input_shape, images.n_outputs, seed=start),
        "imagenet": open_pretrained(
            Pretrained(NETWORK), images.input_shape, n_outputs=images.n_outputs, seed=start
        ).network,
    }
    rows = []
    for weights, network in networks.items():
        examples = spread_examples(images, scale=scale_of(network, images), at_most=N_IMAGES, device="cpu")
        layers = GradientScaling(N_IMAGES, N_IMAGES, "batch").layers(Subject(network, examples))
        middle = list(layers)[len(layers) // 2 - 1]
        norms = layers[middle].norms
        low, high = np.quantile(norms, (0.1, 0.9))
        row = {"target": target, "weights": weights, "start": start, "layer": middle}
        rows.append(row | {"mean": norms.mean(), "low": low, "high": high})
    return rows


def main() -> None:
    """Measure what is missing and write the file after each start."""
    file = Path(sys.argv[1])
    done = pd.read_csv(file) if file.exists() else pd.DataFrame({"target": [], "start": []})
    for start in range(STARTS):
        for target in TARGETS:
            if not ((done["target"] == target) & (done["start"] == start)).any():
                done = pd.concat([done, pd.DataFrame(magnitudes(target, start))], ignore_index=True)
        done.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
        print(start, flush=True)


if __name__ == "__main__":
    main()
