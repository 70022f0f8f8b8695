"""Study files for tests."""

import copy
from collections.abc import Mapping
from typing import Any

from transferscope.study.facts import DataFacts, SourceFacts
from transferscope.study.spec import StudySpec, parse_spec

TABLES: dict[str, Any] = {
    "name": "usps",
    "recipe": "equal",
    "seeds": 2,
    "target": {"data": "usps", "transforms": ["resize:28"], "labels": [100, 600]},
    "sources": {"fashion": {"data": "fashion-mnist"}},
    "network": {"name": "lenet"},
    "pretraining": {"epochs": 5},
    "training": {"steps": 3000},
    "methods": {"scratch": {}, "fine-tune": {"lr_scale": 0.1}, "merlin": {"rho": 2.0}},
}

FACTS = DataFacts("target-data", 7291, {"fashion": SourceFacts("fashion-data", 60000)})


def tables(**changes: Any) -> dict[str, Any]:
    """The tables of a good study file; a change to None drops a table, one to a mapping is merged into it."""
    changed = copy.deepcopy(TABLES)
    for key, value in changes.items():
        if value is None:
            del changed[key]
        elif isinstance(value, Mapping) and isinstance(changed.get(key), dict):
            changed[key] = {k: v for k, v in {**changed[key], **value}.items() if v is not None}
        else:
            changed[key] = value
    return changed


def spec(**changes: Any) -> StudySpec:
    """The study of these tables."""
    return parse_spec(tables(**changes))
