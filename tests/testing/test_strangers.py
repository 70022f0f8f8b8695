"""The contract suites on the templates of examples/, and on code that breaks a promise."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from transferscope import compare
from transferscope.data import Dataset, DataSpec, LabelledSet
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import METHODS, Control, Scratch
from transferscope.models import Network, NetworkSettings
from transferscope.scores import SCORES
from transferscope.testing import check_data, check_diagnostic, check_method, check_network, check_score
from transferscope.testing.methods import METHOD_PROMISES, ON_EVERY_NETWORK, MethodCase

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.long
def test_the_template_of_a_method() -> None:
    kind: Any = METHODS[f"{EXAMPLES}/method.py:BatchSpectralShrinkage"]
    check_method(kind(lr_scale=1.0))


def test_the_template_of_a_network() -> None:
    check_network(f"{EXAMPLES}/network.py:small_net", (1, 12, 12))
    for shape in ((1, 16, 16), (3, 9, 30)):
        check_network(f"{EXAMPLES}/vit.py:small_vit", shape)


def test_the_template_of_data() -> None:
    check_data(f"{EXAMPLES}/data.py:two_moons?n=60&noise=0.1")


def test_the_template_of_a_score() -> None:
    check_score(SCORES[f"{EXAMPLES}/score.py:NearestMean"])


def test_the_template_of_a_diagnostic() -> None:
    check_diagnostic(DIAGNOSTICS[f"{EXAMPLES}/diagnostic.py:StableRank"]())


@pytest.mark.parametrize("name", ["mlp", "lenet", "conv4", "resnet20"])
def test_the_own_networks(name: str) -> None:
    widths = {"mlp": (6, 7), "lenet": (2, 3, 5), "conv4": (2, 2, 2, 2), "resnet20": (2, 2, 3)}[name]
    check_network(NetworkSettings(name, widths), (1, 16, 16))


@pytest.mark.parametrize("name", ["digits", "glyphs?n_train=40&n_test=20"])
def test_own_data(name: str) -> None:
    check_data(name)


@dataclass(frozen=True)
class Careless(Scratch):
    name: ClassVar[str] = "careless"

    def fit(self, task: Any, network: Any, options: Any) -> Any:
        torch.rand(1)
        with torch.no_grad():
            next(network.parameters()).add_(1)
        return super().fit(task, network, options)


@pytest.mark.long
def test_a_method_that_breaks_promises_is_told_which() -> None:
    with pytest.raises(AssertionError) as told:
        check_method(Careless())
    said = str(told.value).splitlines()
    assert said[0].startswith("the method careless keeps ")
    assert any(line.startswith("  it leaves what it is given as it was: it changes the weights") for line in said)


@dataclass(frozen=True)
class Trained(Control, Scratch):
    """A control that trains, and says nothing of it: its rates would not be searched."""

    name: ClassVar[str] = "trained"


def test_a_control_that_trains_and_does_not_say_so_is_told() -> None:
    with pytest.raises(AssertionError, match="it took 6 steps of an optimiser and takes_steps says False"):
        METHOD_PROMISES["it says what it cost"](MethodCase(Trained()))


@dataclass(frozen=True)
class Misled(Scratch):
    """Holds layers of some kinds, with a line that raises where there is one."""

    name: ClassVar[str] = "misled"

    def frozen(self, own: Network) -> Sequence[nn.Module]:
        """None."""
        for module in own.modules():
            if (layer := type(module).__name__) in WHERE:
                raise RuntimeError(f"cannot hold {layer}")
        return ()


WHERE = {"BatchNorm2d": "resnet20", "MultiheadAttention": "transformer", "Tanh": "bent"}
"""The network that has a layer, among those that a method is tried on."""


@pytest.mark.long
def test_a_method_is_tried_on_the_layers_that_networks_have() -> None:
    with pytest.raises(AssertionError) as told:
        check_method(Misled(), network=f"{__file__}:bent", input_shape=(4,))
    broken = [line.partition(", on ")[2] for line in str(told.value).splitlines()[1:]]
    assert broken == [
        f"{where}: it raises RuntimeError: cannot hold {layer}"
        for layer, where in WHERE.items()
        for _ in ON_EVERY_NETWORK
    ]


def bent(input_shape: tuple[int, ...]) -> nn.Module:
    return nn.Sequential(nn.Linear(input_shape[0], 3), nn.Tanh())


def leaky(spec: DataSpec, seed: int) -> Dataset:
    part = LabelledSet(np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32), np.arange(20) % 2, ("a", "b"))
    return Dataset("leaky", part, part, {})


def wide(input_shape: tuple[int, ...]) -> nn.Module:
    class Wide(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(input_shape[0], 3)
            self.unused = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.layer(x)
            return found

    return Wide()


def together(input_shape: tuple[int, ...]) -> nn.Module:
    class Centred(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x - x.mean())

    return Centred(input_shape[0], 3)


def test_data_and_networks_that_break_promises_are_told_which() -> None:
    with pytest.raises(AssertionError) as told:
        check_data(f"{__file__}:leaky")
    assert "what it is tested on is not trained on: 100 % of its test examples are among the" in str(told.value)
    assert "an option that it does not know is ignored silently" in str(told.value)
    with pytest.raises(AssertionError) as told:
        check_network(f"{__file__}:together", (4,))
    assert "depends on its batch" in str(told.value)
    with pytest.raises(AssertionError) as told:
        check_network(f"{__file__}:wide", (4,))
    assert "no gradient reaches features.unused.weight" in str(told.value)


def test_a_score_and_a_diagnostic_that_break_promises_are_told_which() -> None:
    class Backwards(type(SCORES["knn"])):  # type: ignore[misc]
        def value(self, view: Any) -> Any:
            from dataclasses import replace

            found = super().value(view)
            return replace(found, value=-found.value)

    with pytest.raises(AssertionError, match="signal beats noise: it rates noise at"):
        check_score(Backwards())

    class OfItsOwn:
        name = "of its own"

    with pytest.raises(AssertionError, match=r"does not derive from transferscope.scores.Score"):
        check_score(OfItsOwn())

    kind: Any = DIAGNOSTICS["weights"]

    class Training(kind):  # type: ignore[misc]
        def measure(self, subject: Any) -> Any:
            subject.network.train(not subject.network.training)
            return super().measure(subject)

    with pytest.raises(AssertionError, match="it changes nothing by looking: it changes a network, its mode"):
        check_diagnostic(Training())


BROKEN = """
from dataclasses import dataclass
from typing import ClassVar

from transferscope.methods import FineTune


@dataclass(frozen=True)
class Broken(FineTune):
    name: ClassVar[str] = "broken"

    def fit(self, task, network, options):
        raise RuntimeError("the moon is full")
"""


def test_runs_that_fail_are_loud_in_python(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    rng = np.random.default_rng(0)
    parts = [LabelledSet(rng.normal(size=(20, 2)).astype(np.float32), np.arange(20) % 2, ("a", "b")) for _ in range(4)]
    with pytest.warns(UserWarning, match=r"1 of the 3 runs of .* failed; the first, .*broken.*the moon is full"):
        compare(
            Dataset("target", parts[2], parts[3], {}),
            Dataset("source", parts[0], parts[1], {}),
            methods=["scratch", f"{tmp_path}/broken.py:Broken"],
            seeds=1,
            tuning=False,
            training={"steps": 2},
            pretraining={"steps": 2},
            engine={"workers": 0},
            folder=tmp_path,
        )
