"""What a field of settings declares is what it may be."""

from dataclasses import dataclass
from math import inf, nan
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Lt

from transferscope.diagnostics import DIAGNOSTICS
from transferscope.errors import SettingsError
from transferscope.methods import METHODS
from transferscope.records import Count, Positive, Share, check_settings
from transferscope.scores import SCORES


@dataclass(frozen=True)
class Declared:
    count: Count | None = None
    sizes: tuple[Count, ...] = ()
    rate: Positive | Literal["auto"] = "auto"
    share: Share = 0.5
    part: Annotated[float, Ge(0), Lt(1)] = 0.0
    word: Literal["a", "b"] = "a"
    free: float = 0.0
    many: dict[str, float] | None = None


@pytest.mark.parametrize(
    "fine",
    [
        {"count": 1, "sizes": (1, 9), "rate": 1e-300, "share": 1, "part": 0.999, "word": "b", "free": -inf},
        {"count": None, "sizes": (), "rate": "auto", "share": 0.0, "part": 0, "many": {"a": -1.0}},
    ],
)
def test_what_is_declared_may_be(fine: dict[str, Any]) -> None:
    check_settings(Declared(**fine))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"count": 0}, "count = 0 is out of range; expected at least 1"),
        ({"sizes": (2, 0)}, "sizes holds 0, which is out of range; expected at least 1"),
        ({"rate": 0.0}, "rate = 0.0 is out of range; expected above 0 or 'auto'"),
        ({"rate": inf}, "rate = inf is out of range; expected above 0 or 'auto'"),
        ({"rate": "slow"}, "rate = 'slow' is unknown; expected 'auto'"),
        ({"share": 1.01}, "share = 1.01 is out of range; expected at least 0 and at most 1"),
        ({"part": 1.0}, "part = 1.0 is out of range; expected at least 0 and below 1"),
        ({"free": nan}, "free = nan is not a number"),
        (
            {"count": -1, "word": "c"},
            "count = -1 is out of range; expected at least 1; word = 'c' is unknown; expected 'a', 'b'",
        ),
    ],
)
def test_what_is_not_is_refused_and_all_of_it_is_said(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError) as error:
        check_settings(Declared(**wrong))
    assert str(error.value) == said


OUTSIDE: dict[str, dict[str, float]] = {
    "curvature": {"k": 0, "batch_size": 0},
    "gradient-scaling": {"n_examples": 0, "batch_size": 0},
    "gradient-stability": {"steps": 0, "n_examples": 0, "batch_size": 0},
    "kernel-distance": {"n_source": 0},
    "landscape": {"resolution": 1, "radius": 0.0, "n_examples": 0, "batch_size": 0},
    "knn": {"k": 0},
    "transrate": {"epsilon": 0.0},
    "gbc": {"components": 0},
    "co-tuning": {"trade_off": -1.0},
    "delta": {"beta": -1.0},
    "distill": {"beta": -1.0},
    "fine-tune": {"lr_scale": 0.0, "head_lr_scale": -1.0, "layer_decay": 1.1, "frozen_blocks": -2},
    "joint": {"alpha": 1.0},
    "l2-sp": {"beta": -1.0},
    "lora": {"rank": 0, "alpha": 0.0},
    "merlin": {"rho": 0.0, "ridge": 0.0, "inner_steps": 0, "target_batch": 3, "lr_scale": 0.0},
    "merlin-ft": {"ridge": 0.0, "target_batch": 3},
    "wise-ft": {"share": 1.5},
}


@pytest.mark.parametrize(("name", "setting"), [(name, setting) for name in OUTSIDE for setting in OUTSIDE[name]])
def test_settings_of_the_families_are_refused_outside_their_ranges(name: str, setting: str) -> None:
    kind: Any = next(family[name] for family in (DIAGNOSTICS, SCORES, METHODS) if name in family)
    with pytest.raises(SettingsError, match=f"^{setting} = .* is out of range; expected"):
        (kind if isinstance(kind, type) else type(kind))(**{setting: OUTSIDE[name][setting]})
