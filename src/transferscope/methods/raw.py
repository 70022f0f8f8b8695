"""Ridge or logistic regression on the inputs: a baseline that any transfer has to beat."""

import math
import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transferscope.data.task import LabelledSet, TransferTask
from transferscope.methods.common import domain, solved
from transferscope.methods.method import Control, FitOptions, Fitted, Start
from transferscope.methods.probe_head import MOST_JUDGED, Solver, best_probe
from transferscope.methods.ridge_fit import ridge_work
from transferscope.models.inputs import NetworkInput
from transferscope.models.network import Network, n_weights
from transferscope.numerics.leave_one_out import RIDGE_GRID, ridge_risks
from transferscope.training import encode, outputs_of, stream_seed

ANY_TOKEN = 2**31 - 1
"""A vocabulary that has every id: a token that was not counted is read as none."""


MOST_WORK = 2e12
"""Most multiplications of the control, about a minute of one core."""

MOST_NUMBERS = 2e8
"""Most input values of all training examples, 0.8 GB."""


Counted = tuple[Literal["word", "char_wb"], tuple[int, int]]

COUNTED: tuple[Counted, ...] = (("word", (1, 1)), ("word", (1, 2)), ("char_wb", (2, 5)))
"""Text features, in the terms of scikit-learn's vectorisers: tokens, tokens and bigrams, or two to five characters
within words."""

_MARKS = "\u2581\u0120"  # with which tokenizers of SentencePiece and of bytes begin a word
_MARKED = 0.1  # of the tokens of such a tokenizer begin or end a word so


class TfIdf(nn.Module):
    """Tf-idf features of a text, or of both texts of a pair.

        (1 + log count) * (1 + log((1 + N) / (1 + number of the N texts with it))), brought to length 1

    (Salton and Buckley 1988, "Term-weighting approaches in automatic text retrieval"; with scikit-learn's smoothing).

    Args:
        texts: Texts that define the counted parts; other parts are ignored.
        at_most: Number of parts to count, the most frequent ones; None for all.
    """

    def __init__(self, texts: LabelledSet, counted: Counted = COUNTED[0], at_most: int | None = None) -> None:
        super().__init__()
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.analyser, n_parts = counted
        self.vocabulary = texts.vocabulary if self.analyser == "char_wb" else None
        whole = {"token_pattern": r"\S+"} if self.analyser == "word" else {}  # ids of one digit, too
        self.vectoriser = TfidfVectorizer(
            analyzer=self.analyser, ngram_range=n_parts, sublinear_tf=True, max_features=at_most, **whole
        )
        self.known = self.vectoriser.fit_transform(self.spelled(texts.inputs))
        self.width = int(self.known.shape[1])

    def spelled(self, tokens: Int[np.ndarray, "n K L"]) -> list[str]:
        """Return texts for counting: as their tokenizer writes them, or the ids of their tokens."""
        rows = [row[row >= 0].tolist() for row in tokens[:, ::2].reshape(len(tokens), -1)]
        if self.vocabulary is None:
            return [" ".join(map(str, row)) for row in rows]
        return [spelled_text([self.vocabulary[i] for i in row], is_marked=self._is_marked) for row in rows]

    @cached_property
    def _is_marked(self) -> bool:
        assert self.vocabulary is not None
        n_marked = sum(token[:1] in _MARKS or token.endswith("</w>") for token in self.vocabulary if token)
        return n_marked > _MARKED * len(self.vocabulary)

    def forward(self, tokens: Int[Tensor, "n K L"]) -> Float[Tensor, "n V"]:
        """Return the weights, normalised to length 1 for texts with any of the parts."""
        weights = self.vectoriser.transform(self.spelled(tokens.cpu().numpy())).toarray()
        return torch.from_numpy(weights.astype(np.float32)).to(tokens.device)


def spelled_text(tokens: Sequence[str], *, is_marked: bool) -> str:
    """Return a tokenised text as its tokenizer writes it.

    Args:
        is_marked: Whether it marks where words begin or end; otherwise "##" marks what continues a word.
    """
    if not is_marked:
        return " ".join(filter(None, tokens)).replace(" ##", "")
    return "".join(tokens).translate(dict.fromkeys(map(ord, _MARKS), " ")).replace("</w>", " ").strip()


class Shrunk(nn.Module):
    """Images as vectors, averaged to at most `side` x `side` pixels; other inputs unchanged.

    Args:
        side: Side in pixels, at least 1; None to keep the size.
    """

    def __init__(self, side: int | None = None) -> None:
        super().__init__()
        self.side = side

    def forward(self, inputs: Float[Tensor, "n ..."]) -> Float[Tensor, "n m"]:
        """Return the vectors."""
        if self.side is not None and inputs.ndim == 4:
            height, width = (min(self.side, length) for length in inputs.shape[2:])
            inputs = F.adaptive_avg_pool2d(inputs, (height, width))
        return inputs.flatten(1)


@dataclass(frozen=True)
class Raw(Control):
    """Fit a linear model to the inputs themselves, without any network or source.

    Ridge regression with the penalty of least leave-one-out error, of classes on e_c - 1/K, or logistic regression,
    whichever makes fewer errors over folds, see `probe_head.best_probe`; for texts logistic regression if the errors
    are equal, as is usual for tf-idf. Features of tables are scaled as leave-one-out error prefers, see
    `training.pixel_scale`, and texts are read by the weights of their tokens, see `TfIdf`, those of the training
    examples alone. Where that is more than MOST_NUMBERS in all, or more than MOST_WORK, images are shrunk first, to a
    half, a third and so on of their size, and of the tokens the most frequent are counted.

    A linear model on the inputs is the usual control of a linear probe (Alain and Bengio 2016, arXiv:1610.01644,
    "Understanding intermediate layers using linear classifier probes", whose first probe reads the inputs): what
    transfer gains over it is owed to the features.
    """

    name: ClassVar[str] = "raw"
    called: ClassVar[str] = "linear model on raw inputs"
    version: ClassVar[int] = 7
    start: ClassVar[Start] = "random"
    uses_network: ClassVar[bool] = False

    @torch.no_grad()
    def fit(self, task: TransferTask, network: Network, options: FitOptions) -> Fitted:
        """See `Method.fit`; the fitted network flattens its inputs and is linear.

        Notes "logistic" of logistic regression, "read_side" of images that are shrunk, or the number of "read_tokens"
        where not all are counted.
        """
        started = time.perf_counter()
        target = domain(task.target, options)
        flat, notes = reader_of(task.target.train, len(task.target.train))
        inputs = outputs_of(flat.to(target.train.device), target.train)
        seed = stream_seed(options.seed, "solver")
        train = task.target.train
        usual: Solver = "logistic" if train.is_tokens else "ridge"
        head, solver, converged = best_probe(inputs, target.train, train, options.training, seed=seed, usual=usual)
        known = NetworkInput(vocabulary=ANY_TOKEN) if task.target.train.is_tokens else None
        fitted = Network(flat, head, inputs.shape[1], input=known)
        notes |= {"logistic": 1.0} if solver == "logistic" else {}
        return solved(fitted, target, started, trained=n_weights(head), converged=converged, notes=notes)


def reader_of(train: LabelledSet, n: int) -> tuple[nn.Module, dict[str, float]]:
    """Return how the baseline reads `n` training examples like these, with notes on what it leaves out."""
    n_outputs = train.n_outputs
    if train.is_tokens:
        whole = best_counted(train)
        if _is_light(n, whole.width, n_outputs):
            return whole, {}
        at_most = bisect_left(range(1, whole.width), True, key=lambda width: not _is_light(n, width, n_outputs))
        most = max(1, at_most)
        return TfIdf(train, (whole.analyser, whole.vectoriser.ngram_range), most), {"read_tokens": float(most)}
    n_channels, *sides = train.input_shape
    longest = max(sides, default=1)
    for parts in range(1, longest + 1):
        side = -(-longest // parts)
        width = n_channels * math.prod(min(side, length) for length in sides)
        if not train.is_image or side == 1 or _is_light(n, width, n_outputs):
            return (Shrunk(side), {"read_side": float(side)}) if parts > 1 else (Shrunk(), {})
    raise AssertionError("a side of one pixel is always taken")


def best_counted(train: LabelledSet) -> TfIdf:
    """Return the tf-idf weights of parts of texts with the smallest leave-one-out error of ridge regression.

    They are compared on up to MOST_JUDGED of the examples. Characters are counted only if the text can be restored from
    tokens.
    """
    rows = np.unique(np.linspace(0, len(train) - 1, min(len(train), MOST_JUDGED)).round().astype(np.int64))
    targets = encode(torch.from_numpy(train.labels[rows]), train.n_outputs).to(torch.float64).numpy()
    spelled = train.vocabulary is not None and any(
        train.vocabulary[i] for i in np.unique(train.inputs[:, ::2]) if i >= 0
    )
    readers = [TfIdf(train, counted) for counted in COUNTED if counted[0] == "word" or spelled]

    def risk(reader: TfIdf) -> float:
        known = reader.known[rows]
        values, vectors = np.linalg.eigh((known @ known.T).toarray())
        return float(ridge_risks(vectors * np.sqrt(values.clip(min=0)), targets).min())

    return readers[0] if len(rows) < 2 else min(readers, key=risk)


def _is_light(n: int, width: int, n_outputs: int) -> bool:
    return n * width <= MOST_NUMBERS and ridge_work(n, width, n_outputs, len(RIDGE_GRID)) <= MOST_WORK
