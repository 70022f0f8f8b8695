"""Data: loading by name, few-shot subsets, and a check for leakage of test examples.

`load` gives data by name: real data sets of the catalogue, a user's own files, rendered glyphs, and data sets of other
packages (`DATA_SETS`), which read their options from a `DataSpec`. `few_shot` and `folds` choose examples by seed;
`check_leakage` counts test examples in the training data.
"""

from transferscope.data.leakage import LeakageReport, check_leakage
from transferscope.data.load import DATA_SETS, load
from transferscope.data.spec import DataSpec, reads_name, reads_path
from transferscope.data.splits import Fold, few_shot, folds
from transferscope.data.task import Dataset, LabelledSet, TransferTask

__all__ = [
    "DATA_SETS",
    "DataSpec",
    "Dataset",
    "Fold",
    "LabelledSet",
    "LeakageReport",
    "TransferTask",
    "check_leakage",
    "few_shot",
    "folds",
    "load",
    "reads_name",
    "reads_path",
]
