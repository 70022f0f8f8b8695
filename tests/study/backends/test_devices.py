"""Spreading over GPUs, with a made-up list of them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from study.plans import small_plan
from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.store import Outcome, PlannedCell
from transferscope.study.backends import Finished, LocalBackend
from transferscope.study.backends.backend import attempt
from transferscope.study.backends.devices import WORKERS_PER_GPU, Gpu, Spread, visible_gpus
from transferscope.study.context import WorkContext
from transferscope.training import choose_device

GB = 10**9


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda i: SimpleNamespace(total_memory=(i + 1) * 10 * GB))


@pytest.mark.usefixtures("two_gpus")
def test_cuda_is_all_gpus_and_a_number_is_that_one() -> None:
    both = (Gpu("cuda:0", 10 * GB), Gpu("cuda:1", 20 * GB))
    assert visible_gpus("cuda") == both
    assert visible_gpus("auto") == ()  # the CPU
    assert visible_gpus("cuda:1") == both[1:]
    assert visible_gpus("cpu") == visible_gpus("mps") == ()
    for ask in (visible_gpus, choose_device):
        with pytest.raises(SettingsError) as refused:
            ask("cuda:2")
        assert "device = 'cuda:2', but" in str(refused.value)
    assert choose_device("cuda:1") == torch.device("cuda:1")


def test_workers_go_where_most_room_is_and_the_memory_of_the_first_cell_says_how_many_fit() -> None:
    spread = Spread((Gpu("cuda:0", 10 * GB), Gpu("cuda:1", 20 * GB)), workers=None, at_most=100)
    assert spread.size == 2  # one each, as nothing is known yet
    assert spread.next([]) == "cuda:0"
    assert spread.next(["cuda:0"]) == "cuda:1"
    spread.measured(4 * GB)  # 4.8 GB a process: 9 GB take one, 18 GB three
    assert spread.size == 4
    taken: list[str] = []
    for _ in range(spread.size):
        taken.append(spread.next(taken))
    assert Counter(taken) == {"cuda:0": 1, "cuda:1": 3}
    spread.measured(1 * GB)  # a smaller cell makes no more room
    assert spread.size == 4
    spread.measured(100 * GB)
    assert spread.size == 2


def test_small_cells_and_given_numbers_have_their_limits() -> None:
    gpus = [Gpu(f"cuda:{i}", 80 * GB) for i in range(8)]
    spread = Spread(gpus, workers=None, at_most=20)
    spread.measured(GB)
    assert spread.size == 20
    assert Spread(gpus, workers=3, at_most=3).size == 3
    unlimited = Spread(gpus, workers=None, at_most=1000)
    unlimited.measured(GB)
    assert unlimited.size == 8 * WORKERS_PER_GPU


def tell_device(cell: PlannedCell, context: WorkContext) -> Outcome:
    """Says on which device it was done."""
    return Outcome((Record("number", Estimate(float(context.device.partition(":")[2]))),), Cost(peak_memory=4 * GB))


def test_a_cell_that_was_planned_for_gpus_is_done_on_the_one_of_its_worker(tmp_path: Path) -> None:
    cell = replace(small_plan(1).cells[0], payload={"device": "cuda"})
    found = attempt(tell_device, cell, WorkContext(tmp_path, device="cuda:3"))
    assert isinstance(found, Finished)
    assert found.outcome.records[0].estimate.value == 3.0


@pytest.mark.long
def test_local_workers_are_spread_over_gpus_and_grow_in_number_once_one_was_measured(tmp_path: Path) -> None:
    cells = [replace(c, payload={"device": "cuda"}) for c in small_plan(8).cells if c.role == "pretrain"]
    spread = Spread((Gpu("cuda:0", 10 * GB), Gpu("cuda:1", 20 * GB)), workers=None, at_most=100)
    work = "study.backends.test_devices:tell_device"
    used: Counter[float] = Counter()
    with LocalBackend(work, WorkContext(tmp_path, "cuda"), workers=9, spread=spread) as backend:
        waiting = list(cells)
        assert backend.free == 2
        while sum(used.values()) < len(cells):
            while waiting and backend.free:
                backend.start(waiting.pop())
            for message in backend.messages(10.0):
                assert isinstance(message, Finished)
                used[message.outcome.records[0].estimate.value] += 1
                assert backend.size == 4
    assert set(used) == {0.0, 1.0}
