"""Boosted trees on the rows of source and target together: transfer between tables, without any network."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import nn

from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.methods.boosting import Boosting, Mean, linear
from transferscope.methods.common import source_of
from transferscope.methods.method import FitOptions
from transferscope.methods.source_labels import calibrated, outputs_in_source
from transferscope.training import stream_seed

MOST_ROWS = 5_000
"""Most source rows, drawn at random: two seconds of one core for 100 columns."""


@dataclass(frozen=True)
class SourceBoosting(Boosting):
    """The unchanged source model: trees fitted to source rows, with numbers converted to the target's units.

    Numbers are calibrated by the target's labels, see `source_labels.calibrated`; classes are predicted without reading
    target labels. Both tables must have the same labels.
    """

    name: ClassVar[str] = "source-boosting"
    called: ClassVar[str] = "boosting on the source table"
    version: ClassVar[int] = 1
    uses_source: ClassVar[bool] = True

    def check_task(self, target: Dataset, source: Dataset | None) -> None:
        """Refuse what is not a table, and a source with other labels.

        Raises:
            DataError: The inputs are images or texts; or as `outputs_in_source`.
        """
        super().check_task(target, source)
        outputs_in_source(self.name, target, source)

    def head(self, task: TransferTask, options: FitOptions) -> nn.Module:
        """Fit trees on the source and, for numbers, the line after them."""
        source = self.source_rows(task, options)
        trees = self.grown(source, options)
        if source.classes is not None:
            return trees
        seen = trees(torch.from_numpy(task.target.train.inputs.astype(np.float32)))
        return nn.Sequential(trees, calibrated(seen, torch.from_numpy(task.target.train.labels)))

    def source_rows(self, task: TransferTask, options: FitOptions) -> LabelledSet:
        """Return the source's rows with the target's labels, without classes that the target lacks."""
        source, target = source_of(task, self.name), task.target.train
        places = np.array(outputs_in_source(self.name, task.target, source))
        train = source.train
        if len(train) > MOST_ROWS:
            drawn = np.random.default_rng(stream_seed(options.seed, "source rows")).permutation(len(train))
            train = train.take(np.sort(drawn[:MOST_ROWS]))
        if train.kind != "classification":
            return LabelledSet(train.inputs, train.labels[:, places], target.classes)
        of_class = np.full(train.n_outputs, -1)
        of_class[places] = np.arange(len(places))
        known = np.flatnonzero(of_class[train.labels] >= 0)
        return LabelledSet(train.inputs[known], of_class[train.labels[known]], target.classes)


@dataclass(frozen=True)
class PooledBoosting(SourceBoosting):
    """Trees fitted to the rows of both tables, with a column for the table of a row.

    Source labels that are numbers first pass through the line by which the source's own trees fit the target's labels;
    otherwise a source in other units would be harmful. Every row counts the same.
    """

    name: ClassVar[str] = "pooled-boosting"
    called: ClassVar[str] = "boosting on both tables"
    version: ClassVar[int] = 1

    def head(self, task: TransferTask, options: FitOptions) -> nn.Module:
        """Fit trees on both tables, marked as of the target."""
        source, target = self.source_rows(task, options), task.target.train
        if target.classes is None:
            _, line = super().head(task, options).children()
            source = LabelledSet(source.inputs, line(torch.from_numpy(source.labels)).numpy())
        flagged = [
            np.column_stack([part.inputs, np.full(len(part), flag)]).astype(np.float32)
            for flag, part in ((1.0, target), (0.0, source))
        ]
        labels = np.concatenate([target.labels, source.labels])
        pooled = LabelledSet(np.concatenate(flagged), labels, target.classes)
        return nn.Sequential(nn.ConstantPad1d((0, 1), 1.0), self.grown(pooled, options))


@dataclass(frozen=True)
class PooledBoostingRidge(PooledBoosting):
    """The mean of boosting on both tables and of ridge regression on the target's rows, as in `boosting-ridge`.

    Such a mean helps with any source; the gain due to the source is that over `boosting-ridge`.
    """

    name: ClassVar[str] = "pooled-boosting-ridge"
    called: ClassVar[str] = "boosting on both tables and ridge"
    version: ClassVar[int] = 1

    def head(self, task: TransferTask, options: FitOptions) -> nn.Module:
        """Fit trees on both tables and a linear model on the target."""
        return Mean(super().head(task, options), linear(task.target.train, options.training), task.target.train)
