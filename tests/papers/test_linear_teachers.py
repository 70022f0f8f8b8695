"""Points that are trained together are trained as if alone; best ridges; keys that stay."""

import hashlib
import json
import math

import numpy as np
import pytest

from transferscope.errors import SettingsError
from transferscope_papers.catalogue import FIGURES
from transferscope_papers.figure import Simulated
from transferscope_papers.study import plan_figure


@pytest.mark.long
def test_a_point_does_not_see_those_that_are_trained_with_it() -> None:
    figure = FIGURES["tahir2024-fig1"].configured(quick=True, changes={"d": "20", "seeds": "4"})
    group = figure.groups()[0][:5:4]
    together = figure.simulate_group(group)
    for point, mean in zip(group, together, strict=True):
        alone = figure.simulate(point)
        assert (alone.status, alone.n) == (mean.status, 4)
        assert mean.value == pytest.approx(alone.value, rel=1e-9)


def test_every_point_is_in_one_group_and_large_figures_keep_theirs_alone() -> None:
    for name in ("tahir2024-fig1", "tahir2024-fig7"):
        small, large = FIGURES[name].configured(quick=True, changes={}), FIGURES[name]
        grouped = [point for group in small.groups() for point in group]
        assert sorted(map(repr, grouped)) == sorted(map(repr, small.points()))
        assert len(small.groups()) <= 4
        assert {len(group) for group in large.groups()} == {1}


def test_points_without_the_best_ridge_keep_the_keys_that_they_had_before_there_was_one() -> None:
    figure = FIGURES["tahir2024-fig1"]
    first = figure.points()[0]
    settings = {"d": 500, "seeds": 20, "sigma": 0.2}
    parts = {"figure": "tahir2024-fig1", "version": 1, "settings": settings, "points": [{**vars(first)}]}
    assert plan_figure(figure).cells[0].key == hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    ridged = figure.configured(quick=False, changes={"best_ridge": "1"})
    assert ridged.key_settings == {**settings, "best_ridge": 1}


@pytest.mark.parametrize(("name", "changes"), [("tahir2024-fig1", {}), ("tahir2024-fig3", {"depth": "1"})])
def test_with_the_best_ridges_theory_and_solutions_agree_and_the_source_is_no_cure_for_double_descent(
    name: str, changes: dict[str, str]
) -> None:
    figure = FIGURES[name].configured(quick=True, changes={"best_ridge": "1", "seeds": "20", **changes})
    points = [point for point in figure.points() if point.series == "θ = π/4"][:8:3]
    found = figure.agreement([Simulated(point, figure.simulate(point)) for point in points])
    assert len(found.z) == 3
    assert found.largest < 4
    if name == "tahir2024-fig1":  # Bayes: least risk from scratch at theta = pi/2, where the source says nothing
        assert figure.theory().diagrams[0].values[:, -1].max() < 1e-12
        n, sigma = 45, 0.2
        ridge = sigma**2 * 60 / n
        x = np.random.default_rng(0).standard_normal((40, n, 60))
        values = np.linalg.eigvalsh(np.swapaxes(x, 1, 2) @ x / n)
        scratch = float(np.mean((ridge / (values + ridge)) ** 2 + 60 * sigma**2 / n * values / (values + ridge) ** 2))
        transfer = math.sin(math.pi / 4) ** 2  # and a little for the head
        assert figure.expected(math.pi / 4, n) == pytest.approx(scratch - transfer, abs=0.03)  # type: ignore[attr-defined]


def test_a_ridge_on_deep_fine_tuning_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"^tahir2024-fig3 makes no sense with these settings: a ridge of best"):
        FIGURES["tahir2024-fig3"].configured(quick=True, changes={"best_ridge": "1"})


@pytest.mark.parametrize(
    ("name", "changes"), [("tahir2024-fig1", {}), ("tahir2024-fig3", {"depth": "1"}), ("tahir2024-fig6", {})]
)
def test_learners_that_are_solved_for_are_not_called_trained_networks(name: str, changes: dict[str, str]) -> None:
    figure = FIGURES[name].configured(quick=True, changes={"best_ridge": "1", **changes})
    assert not [claim.sentence for claim in figure.claims() if "trained" in claim.sentence]
    titles = [panel.title for panel in figure.theory().panels]
    assert sum(title.endswith("best ridges") for title in titles) == 1
