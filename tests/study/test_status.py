import math
from pathlib import Path

import pytest

from study.plans import small_plan
from study.specs import tables
from transferscope.records import Failure
from transferscope.store import Standing, Store, StudyCounts
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec
from transferscope.study.status import Forecast, edited_plan

CELLS = small_plan(2, sizes=(10, 20)).cells  # per seed: one pretraining, one from scratch, two fine-tunings


def by_method(method: str) -> list[str]:
    return [cell.key for cell in CELLS if cell.labels["method"] == method]


def test_nothing_is_known_before_a_cell_is_done() -> None:
    forecast = Forecast(CELLS, [])
    assert forecast.seconds_left({}, workers=1) is None
    forecast.count_failed(CELLS[0].key)
    assert forecast.seconds_left({}, workers=1) is None


def test_each_kind_counts_with_what_it_took_and_unseen_kinds_with_the_average() -> None:
    forecast = Forecast(CELLS, [Standing(by_method("pretrain")[0], "done", 100.0)])
    forecast.count_done(by_method("scratch")[0], 10.0)
    # left: 1 pretraining (100 s), 1 from scratch (10 s), 4 fine-tunings (the average, 55 s)
    assert forecast.seconds_left({}, workers=1) == pytest.approx((100 + 10 + 4 * 55, math.inf))
    forecast.count_done(by_method("fine-tune")[0], 1.0)
    # each varies by 30 % of its mean, and the mean is of one: variances 30² (1 + 1), 3² (1 + 1) and .3² (3 + 9)
    within = 1.645 * math.sqrt(1800 + 18 + 1.08)
    assert forecast.seconds_left({}, workers=2) == pytest.approx(((113 - within) / 2, (113 + within) / 2))
    assert forecast.seconds_left({by_method("pretrain")[1]: 0.75}, workers=1) == pytest.approx((0, 38 + within))
    forecast.count_done(by_method("fine-tune")[1], 3.0)  # now 2 ± 1.41 s, and .707 of the mean for all
    within = 1.645 * math.sqrt(0.5 * (100**2 * 2 + 10**2 * 2) + 2 * (2 + 4 / 2))
    assert forecast.seconds_left({}, workers=1) == pytest.approx((0, 114 + within))


def test_failed_cells_are_not_waited_for() -> None:
    standings = [Standing(cell.key, "failed", None) for cell in CELLS[1:]]
    forecast = Forecast(CELLS, standings)
    forecast.count_done(CELLS[0].key, 5.0)
    assert (forecast.done, forecast.failed, forecast.total) == (1, 7, 8)
    assert forecast.seconds_left({}, workers=1) == (0, 0)


def test_runs_behind_a_failed_one_are_not_among_those_to_do(tmp_path: Path) -> None:
    asked = tables(
        target={"data": "digits", "transforms": [], "labels": [20], "limit": 40, "test_limit": 20},
        sources={"fashion": None, "turned": {"data": "digits", "transforms": ["upside-down"], "limit": 40}},
        network={"name": "linear"}, pretraining={"steps": 1, "epochs": None}, training={"steps": 1}, seeds=1,
        methods={"merlin": None, "linear-probe": {}},
        engine={"workers": 0, "device": "cpu"},
    )  # fmt: skip
    planned = plan_study(parse_spec(asked))
    with Store.open(tmp_path / "s.sqlite") as store:
        store.plan(planned.study, planned.cells)
        (pretraining,) = (cell for cell in planned.cells if cell.role == "pretrain")
        store.fail(pretraining.key, Failure("exception", "for the test"))
        edited = edited_plan(parse_spec({**asked, "seeds": 2}), store)
    assert edited is not None
    assert edited.counts == StudyCounts(planned=1 + 4, failed=1, blocked=2)
    assert (edited.added, edited.dropped) == (4, 0)
