import math

import pytest

from study.plans import small_plan
from transferscope.store import Standing
from transferscope.study.status import Forecast

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
