import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from torch import Tensor, nn

from transferscope.data.task import LabelledSet
from transferscope.estimate import Estimate
from transferscope.training import PixelScale, TensorSet, evaluate, measure, outputs_of, to_tensors
from transferscope.training.feature_cache import LOOKED_AT


def test_outputs_are_those_of_all_examples_at_once() -> None:
    """In two parts, since 512 are read at once."""
    inputs = np.random.default_rng(0).normal(size=(700, 5)).astype(np.float32)
    data = to_tensors(
        LabelledSet(inputs, np.zeros(700, dtype=np.int64), ("a", "b")),
        PixelScale(np.zeros(5, np.float32), np.ones(5, np.float32)),
    )
    network = nn.Linear(5, 3)
    with torch.no_grad():
        torch.testing.assert_close(outputs_of(network, data), network(torch.from_numpy(inputs)))


def test_every_part_of_a_network_keeps_its_mode() -> None:
    network = nn.Sequential(nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4)), nn.Dropout(), nn.Linear(4, 3))
    network[0].eval()
    before = [part.training for part in network.modules()]
    data = TensorSet(torch.randn(8, 5), torch.zeros(8).long(), torch.zeros(5), torch.ones(5), 3)
    outputs_of(network, data)
    assert [part.training for part in network.modules()] == before


_PEAK = """
import resource, sys
import numpy as np
from torch import nn
from transferscope.data.task import LabelledSet
from transferscope.training import PixelScale, outputs_of, to_tensors

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

images = np.memmap(sys.argv[1], dtype=np.uint8, mode="c", shape=(1200, 3, 224, 224))
data = LabelledSet(images, np.zeros(1200, dtype=np.int64), ("a", "b"))
test = to_tensors(data, PixelScale(np.zeros(3, np.float32), np.ones(3, np.float32)))
before = peak()
outputs_of(nn.Sequential(nn.Flatten(), nn.Linear(3 * 224 * 224, 4)), test)
print(peak() - before)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is that of Linux")
def test_outputs_of_many_large_images_take_no_memory_that_grows_with_their_number(tmp_path: Path) -> None:
    """1,200 images are 172 MiB in bytes and 690 in float32; a list of outputs had kept all of the latter."""
    file = tmp_path / "images"
    with file.open("wb") as written:
        written.truncate(1200 * 3 * 224 * 224)
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, str(file)], capture_output=True, text=True, check=True, env=environment
    )
    assert int(done.stdout) < 400  # MiB


def test_the_standard_error_of_micro_f1_is_that_of_its_linearisation() -> None:
    """Twice the hits of three examples are 2, 0 and 4, labels that are there or predicted 3, 2 and 4.

    So micro F1 is 6/9, an example is off it by 2 - 2/3 * 3 = 0, -4/3 and 4/3, whose deviation is 4/3, and the error is
    4/3 over the mean 3 of the counts and the root of 3.
    """
    labels = torch.tensor([[True, False], [False, True], [True, True]])
    predicted = torch.tensor([[True, True], [True, False], [True, True]])
    outputs = torch.where(predicted, 1.0, -1.0)

    def micro_f1(n: int) -> Estimate:
        records = measure(outputs[:n], labels[:n], part="target_test").records
        return next(one.estimate for one in records if one.name == "micro_f1")

    assert micro_f1(3).value == pytest.approx(f1_score(labels, predicted, average="micro")) == pytest.approx(2 / 3)
    assert micro_f1(3).stderr == pytest.approx(4 / (9 * 3**0.5))
    assert micro_f1(2).stderr == pytest.approx(np.std([0.8, -0.8], ddof=1) / 2.5 / 2**0.5)  # 2/5; 2 - 1.2 and 0 - 0.8
    assert micro_f1(1).value == pytest.approx(2 / 3)
    assert micro_f1(1).stderr is None


class Counted(nn.Module):
    """A linear map that counts the examples that it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.seen, self.factor = 0, 1.0

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen += len(inputs)
        outputs: Tensor = self.layer(inputs)
        return self.factor * outputs


def test_outputs_that_are_asked_for_again_are_computed_once_and_never_those_of_something_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(evaluate, "LEAST_PARAMETERS", 1)
    network = Counted()
    one, other = (
        TensorSet(torch.randn(300, 6), torch.zeros(300).long(), torch.zeros(6), torch.ones(6), 3) for _ in range(2)
    )

    def asked(data: TensorSet) -> int:
        before = network.seen
        found = outputs_of(network, data, again=True)
        read = network.seen - before
        assert torch.equal(found, outputs_of(network, data))
        found.zero_()  # whoever has it may change it
        return read

    whole, few = 300 + LOOKED_AT, LOOKED_AT
    assert [asked(one), asked(other), asked(one), asked(other)] == [whole, whole, few, few]
    with torch.no_grad():
        network.layer.bias.add_(1)
    assert [asked(one), asked(one)] == [whole, few]
    network.factor = 2.0  # which no digest of the weights knows
    assert [asked(one), asked(one)] == [whole, few]
