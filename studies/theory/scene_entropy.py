"""The negative entropy of rendered scenes by features of networks of real images: Figure 7 of Mikami et al. 2021.

    TRANSFERSCOPE_DATA=FOLDER python studies/theory/scene_entropy.py docs/results/runs/scene-entropy.csv [NETWORKS]

FOLDER holds cifar10_18k.npz. A row for each network (a random start trained on CIFAR-10 at 16 pixels) and each of the
eight renderings of the figure: nats a feature of 2,000 scenes, each feature in units of its spread on CIFAR-10.
Networks that are in the file are not trained again. The predicate is `mikami_figure_7` in verdicts.py.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.data import load
from transferscope.methods import FitOptions, pretrain
from transferscope.models import NetworkSettings, build_network
from transferscope.training import TrainingSettings, outputs_of, to_tensors
from transferscope_papers.mikami2021.entropy import negative_entropy
from transferscope_papers.mikami2021.rows import RENDERINGS, SCENES

N_SCENES, STEPS = 2000, 1500


def entropies(network: int) -> pd.DataFrame:
    """Return a row for each rendering, of one network."""
    real = load("npz:cifar10_18k.npz", transforms=("train-rows:0-15000", "resize:16"))
    start = build_network(NetworkSettings("conv4", (16, 32, 64, 64)), (3, 16, 16), 10, seed=network)
    options = FitOptions(TrainingSettings(steps=STEPS, lr=0.05), seed=network, device="cpu", curve_examples=0)
    fitted = pretrain(real, start, options)

    def features(spec: str, transforms: tuple[str, ...] = ()) -> np.ndarray:
        images = load(spec, transforms=transforms, limit=N_SCENES).train
        found: np.ndarray = outputs_of(fitted.network.features, to_tensors(images, fitted.scale)).double().numpy()
        return found

    spread = features("npz:cifar10_18k.npz", ("resize:16",)).std(axis=0)
    rows = []
    for name, attributes in RENDERINGS.items():
        chosen = "".join(f"&{option}={value}" for option, value in map(SCENES.__getitem__, attributes))
        seen = features(f"scenes?size=16&n_train={N_SCENES}&n_test=1{chosen}")[:, spread > 0] / spread[spread > 0]
        rows.append({"network": network, "source": name, "value": negative_entropy(seen) / seen.shape[1]})
    return pd.DataFrame(rows)


def main() -> None:
    """Train the networks that are missing and write the file after each."""
    file, wanted = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5
    done = pd.read_csv(file) if file.exists() else pd.DataFrame({"network": []})
    for network in range(wanted):
        if network not in set(done["network"]):
            done = pd.concat([done, entropies(network)], ignore_index=True)
            done.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
            print(network, flush=True)


if __name__ == "__main__":
    main()
