"""With Ray, where it is installed: a cluster of this machine with two workers, and one of two nodes that loses one."""

import os
import platform
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from study.fake_work import count
from study.plans import small_plan
from transferscope.errors import MissingExtraError, SettingsError
from transferscope.settings.engine import EngineSettings
from transferscope.store import PlannedCell, Store, StudyCounts
from transferscope.study.backends import Failed, Finished, Message
from transferscope.study.backends import ray as ray_backend
from transferscope.study.backends.ray import Driver, RayBackend
from transferscope.study.context import WorkContext
from transferscope.study.run import run_plan

RAY = EngineSettings(backend="ray", workers=2)
PRETRAINING = [cell for cell in small_plan(10).cells if cell.role == "pretrain"]


def backend(work: str, folder: Path, **options: Any) -> RayBackend:
    given = {"workers": 2, "resources": EngineSettings(backend="ray").cell_resources, **options}
    return RayBackend(f"study.fake_work:{work}", WorkContext(folder), **given)


def do_all(given: RayBackend, cells: list[PlannedCell], *, begun: int = 0) -> dict[str, Message]:
    """Do cells, and end as many that were begun before."""
    waiting, heard = list(cells), dict[str, Message]()
    while len(heard) < len(cells) + begun:
        while waiting and given.free:
            given.start(waiting.pop(0))
        heard |= {message.key: message for message in given.messages(5.0)}
    return heard


def test_without_ray_its_install_line_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError) as refused:
        backend("count", tmp_path)
    assert str(refused.value) == "backend = 'ray' needs the package ray: pip install 'transferscope[ray]'"


@pytest.mark.parametrize(
    ("there", "engine", "size"),
    [
        ({"CPU": 6.0}, {}, 6),
        ({"CPU": 6.0}, {"threads": 4}, 1),
        ({"CPU": 6.0}, {"workers": 9}, 9),
        ({"CPU": 8.0, "GPU": 2.0}, {"device": "cuda"}, 2),
        ({"CPU": 8.0, "GPU": 2.0}, {"device": "cuda", "resources": {"method": {"gpus": 0.3}}}, 6),
        ({"CPU": 8.0}, {"device": "cuda"}, 1),  # one waits until there is a GPU
        ({"CPU": 8.0, "memory": 4e9}, {"resources": {"method": {"cpus": 0.5, "memory": 1e9}}}, 8),
    ],
)
def test_so_many_cells_are_given_to_ray_as_fit_of_the_kind_that_asks_for_least(
    there: Mapping[str, float], engine: dict[str, Any], size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = SimpleNamespace(cluster_resources=lambda: there)
    monkeypatch.setattr(ray_backend, "import_ray", lambda: fake)
    settings = EngineSettings(backend="ray", **engine)
    given = backend("count", tmp_path, workers=settings.workers, resources=settings.cell_resources)
    assert given.free == given.size == size


def test_a_node_of_another_version_is_refused(tmp_path: Path) -> None:
    driver = Driver.marking(tmp_path)
    driver.check(tmp_path)
    with pytest.raises(SettingsError, match=r"has transferscope \S+, but the driver 0\.0\.1; install one version"):
        replace(driver, version="0.0.1").check(tmp_path)


@pytest.fixture(scope="module")
def ray() -> Iterator[ModuleType]:
    """Ray, connected to a cluster of this machine with two processors."""
    package = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # nodes import the tests' work too
        package.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        yield package
        package.shutdown()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # Ray's own
class TestOnTwoWorkers:
    def test_the_tables_are_those_of_this_process(self, ray: ModuleType, tmp_path: Path) -> None:
        found = []
        for engine in (EngineSettings(backend="inline"), RAY):
            with Store.open(tmp_path / f"{engine.backend}.sqlite") as store:
                status = run_plan(small_plan(3), store, engine=engine, work="study.fake_work:count")
                assert status.counts == StudyCounts(done=12)
                found.append((pd.DataFrame(store.records("small").columns()), store.arrays("small", "predictions")))
        (records, arrays), (records_of_ray, arrays_of_ray) = found
        pd.testing.assert_frame_equal(records_of_ray, records, check_exact=True)
        assert arrays.keys() == arrays_of_ray.keys()
        assert all(np.array_equal(arrays[key], arrays_of_ray[key]) for key in arrays)

    def test_a_cell_whose_process_is_killed_is_begun_once_more(self, ray: ModuleType, tmp_path: Path) -> None:
        cells = [PRETRAINING[seed] for seed in (0, 6, 7, 9)]  # 6 kills its process every time, 7 the first time
        with backend("troubled", tmp_path) as given:
            heard = do_all(given, cells)
        kinds = [type(heard[cell.key]) for cell in cells]
        assert kinds == [Finished, Failed, Finished, Finished]
        lost = heard[cells[1].key]
        assert isinstance(lost, Failed)
        assert (lost.failure.kind, lost.failure.message) == (
            "lost",
            "the process of this run, or its node, was lost twice (WorkerCrashedError); see the logs of the cluster, "
            "and run again",
        )

    def test_a_cell_that_takes_too_long_is_stopped(self, ray: ModuleType, tmp_path: Path) -> None:
        with backend("endless", tmp_path, seconds=0.3) as given:
            (message,) = do_all(given, PRETRAINING[:1]).values()
        assert isinstance(message, Failed)
        assert message.failure.kind == "timeout"
        assert message.failure.message.startswith("the run was stopped after 0.005 minutes; raise timeout")

    def test_a_node_that_cannot_import_the_work_fails_with_its_sentence(
        self, ray: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "only_here", SimpleNamespace(work=count))
        resources = EngineSettings(backend="ray").cell_resources
        with RayBackend("only_here:work", WorkContext(tmp_path), workers=1, resources=resources) as given:
            (message,) = do_all(given, PRETRAINING[:1]).values()
        assert isinstance(message, Failed)
        assert message.failure.message == (
            "'only_here:work' cannot be imported (No module named 'only_here'); expected package.module:function"
        )

    def test_a_node_that_does_not_see_the_folder_of_networks_ends_the_study_with_a_sentence(
        self, ray: ModuleType, tmp_path: Path
    ) -> None:
        with backend("count", tmp_path) as given:
            (tmp_path / ".transferscope-driver").write_text("of another machine")  # a folder of the same name there
            given.start(PRETRAINING[0])
            with pytest.raises(SettingsError) as refused:
                list(given.messages(60.0))
        said = f"node {platform.node()} of the Ray cluster cannot see the folder of networks {tmp_path};"
        assert str(refused.value).startswith(said)

    def test_leaving_ends_what_is_running(self, ray: ModuleType, tmp_path: Path) -> None:
        with backend("endless", tmp_path) as given:
            for cell in PRETRAINING[:2]:
                given.start(cell)
            assert list(given.messages(2.0)) == []
        with backend("count", tmp_path) as after:  # there is room again
            assert len(do_all(after, PRETRAINING[:2])) == 2


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_a_lost_node_costs_its_running_cells_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("ray")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    from ray.cluster_utils import Cluster  # type: ignore[import-not-found, unused-ignore]

    package.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=1)
        cells = [cell for cell in small_plan(20).cells if cell.role == "pretrain"]
        with backend("log_count", tmp_path, workers=None, address=cluster.address) as given:
            assert given.size == 2
            for cell in cells[:2]:
                given.start(cell)
            time.sleep(0.5)
            cluster.remove_node(node, allow_graceful=False)
            heard = do_all(given, cells[2:], begun=2)
        assert [type(heard[cell.key]) for cell in cells] == [Finished] * len(cells)
    finally:
        package.shutdown()
        cluster.shutdown()
