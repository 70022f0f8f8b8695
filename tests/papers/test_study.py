"""A figure as a study: planned, interrupted, resumed, read back."""

from pathlib import Path

from transferscope.settings.engine import EngineSettings
from transferscope.store import Store
from transferscope.study.run import run_plan
from transferscope_papers.merlin2020.theorems import QuadraticFigure
from transferscope_papers.study import WORK, plan_figure, simulated_points
from transferscope_papers.tahir2024.linear_transfer import RidgeFigure

HERE = EngineSettings(workers=0)


def test_points_come_back_from_the_store_as_they_were_simulated(tmp_path: Path) -> None:
    figure = RidgeFigure(d=10, n=8, seeds=3)
    with Store.open(tmp_path / "store.sqlite") as store:
        status = run_plan(plan_figure(figure), store, engine=HERE, work=WORK)
        assert status.counts.done == len(figure.points())
        simulated = simulated_points(figure, store)
        assert [item.point for item in simulated] == list(figure.points())
        assert simulated[3].estimate == figure.simulate([figure.points()[3]])[0]


def test_panels_that_look_at_the_same_networks_simulate_them_once(tmp_path: Path) -> None:
    figure = QuadraticFigure(d=6, steps=20, seeds=2)
    plan = plan_figure(figure)
    assert len(plan.cells) == 3  # pretraining, joint training, MeRLin
    with Store.open(tmp_path / "store.sqlite") as store:
        run_plan(plan, store, engine=HERE, work=WORK)
        simulated = simulated_points(figure, store)
    assert repr([item.point for item in simulated]) == repr(list(figure.points()))  # NaN is not itself
    group = [point for point in figure.points() if point.group == figure.points()[0].group]
    both = figure.simulate(group)
    assert len(set(map(repr, both))) == len(both)
    assert tuple(item.estimate for item in simulated if item.point.group == group[0].group) == both
