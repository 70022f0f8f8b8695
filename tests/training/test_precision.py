"""The precision that "auto" takes on a processor: by the time of a product of matrices, whatever its name."""

from collections.abc import Iterator

import pytest
import torch

from transferscope.training import choose_precision, tensors


@pytest.fixture(autouse=True)
def measured_anew() -> Iterator[None]:
    tensors._halves_are_faster.cache_clear()
    yield
    tensors._halves_are_faster.cache_clear()


@pytest.mark.parametrize(
    ("halves", "chosen"), [(0.4, "bfloat16"), (0.8, "bfloat16"), (0.9, "float32"), (8.0, "float32")]
)
def test_auto_is_what_is_faster(monkeypatch: pytest.MonkeyPatch, halves: float, chosen: str) -> None:
    """Five products of each precision, those in bfloat16 first, and the least time of each counts."""
    took = [9.0, halves, 9.0, 9.0, 9.0, 9.0, 9.0, 1.0, 9.0, 9.0]
    clock = iter([moment for seconds in took for moment in (0.0, seconds)])
    monkeypatch.setattr(tensors, "process_time", lambda: next(clock))
    assert choose_precision("auto", torch.device("cpu")) == chosen
    assert choose_precision("auto", torch.device("cpu")) == chosen  # measured once
    assert next(clock, None) is None


def test_what_is_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "process_time", None)  # nothing is measured
    assert choose_precision("bfloat16", torch.device("cpu")) == "bfloat16"
    assert choose_precision("float32", torch.device("cpu")) == "float32"
