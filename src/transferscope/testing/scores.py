"""Contract tests of transferability scores."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import softmax

from transferscope.scores import Score, TargetView, with_error
from transferscope.testing.promises import check_all, has_frozen_settings, require

_SHAPES = ((60, 8), (30, 100))
"""More examples than features, and fewer."""


def check_score(score: Any) -> None:
    """Test the contract of a score on Gaussian classes.

    Raises:
        AssertionError: It breaks a promise of `SCORE_PROMISES`.
    """
    check_all(SCORE_PROMISES, score, f"the score {score.name}")


def _frozen(score: Any) -> None:
    require(isinstance(score, Score), "it does not derive from transferscope.scores.Score")
    has_frozen_settings(score)


def _changes_nothing(score: Score) -> None:
    for n, d in _SHAPES:
        view = classes_view(n, d)
        arrays = [view.features, view.labels, view.source_probabilities]
        before = [np.array(array) for array in arrays]
        first, second = score.value(view), score.value(view)
        require(first == second, f"it gives {first} and then {second} for the same examples")
        require(np.isfinite(first.value), f"its value on Gaussian classes is {first.value}")
        require(first.n == n and first.stderr is None, f"it says n = {first.n} of {n}, or a standard error of its own")
        kept = all(np.array_equal(np.asarray(now), then) for now, then in zip(arrays, before, strict=True))
        require(kept, "it changes what it is given")


def _knows_no_order(score: Score) -> None:
    for n, d in _SHAPES:
        view = classes_view(n, d)
        _same(score, view, view.take(np.random.default_rng(3).permutation(n)), "the order of the examples")
        if "regression" in score.kinds:
            numbers = regression_view(n, d)
            require(np.isfinite(score.value(numbers).value), "its value on numbers is not finite")
            _same(score, numbers, numbers.take(np.random.default_rng(1).permutation(n)), "the order of numbers")


def _knows_no_names(score: Score) -> None:
    for n, d in _SHAPES:
        view = classes_view(n, d)
        for names in ([2, 0, 1], [7, 100, 3]):
            _same(score, view, replace(view, labels=np.array(names)[view.labels]), "the indices of the classes")


def _says_undefined(score: Score) -> None:
    view = classes_view()
    values = [score.value(replace(view, labels=np.full(len(view), 4)))]
    if score.needs == "features":
        values += [score.value(replace(view, features=np.full_like(view.features, c))) for c in (0.0, 0.1)]
    for one in values:
        require(
            one.status == "undefined" and np.isnan(one.value),
            f'one class, or features that never vary, give {one.value} with status "{one.status}"; expected NaN and '
            '"undefined" (see Score.value)',
        )


def _says_too_few(score: Score) -> None:
    for n in (1, 2):
        one = score.value(classes_view(n))
        told = (one.status, one.n, one.stderr) == ("too_few", n, None) and np.isnan(one.value)
        require(told, f'{n} examples give {one}; expected NaN and "too_few" (see Score.value)')
        require(with_error(score, classes_view(n)).status == "too_few", "its error is computed from too few examples")


def _takes_duplicates(score: Score) -> None:
    for n, d in _SHAPES:
        view = classes_view(n, d)
        twice = view.take(np.tile(np.arange(n), 2))
        one = score.value(twice)
        require(np.isfinite(one.value) or one.status == "unbounded", f"examples that occur twice give {one}")
        mixed = twice.take(np.random.default_rng(0).permutation(len(twice)))
        _same(score, twice, mixed, "the order of examples that occur twice")


def _prefers_signal(score: Score) -> None:
    for n in (60, 200):
        for seed in range(5):
            good, noise = (score.value(classes_view(n, signal=s, seed=seed)).value for s in (1.0, 0.0))
            require(
                good > noise, f"it rates noise at {noise:.3g} and features with signal at {good:.3g}; higher is better"
            )


def _sees_through_wide_noise(score: Score) -> None:
    if score.needs != "features":
        return
    for width in (200, 2000):
        for seed in range(3):
            good = score.value(classes_view(100, 20, signal=1.0, seed=seed))
            noise = score.value(classes_view(100, width, signal=0.0, seed=seed))
            require(
                noise.value < good.value or not noise.usable,
                f"it rates noise of {width} features above 20 features with signal, and no status says so",
            )


SCORE_PROMISES: dict[str, Callable[[Score], None]] = {
    "its settings are frozen": _frozen,
    "it leaves what it is given as it was, and is repeatable": _changes_nothing,
    "it depends on no order of examples": _knows_no_order,
    "it depends on no names of classes": _knows_no_names,
    "where there is no value it says so": _says_undefined,
    "where there are too few examples it says so": _says_too_few,
    "examples that occur twice are answered": _takes_duplicates,
    "signal beats noise": _prefers_signal,
    "noise of many features does not beat signal unsaid": _sees_through_wide_noise,
}
"""Checks by their descriptions."""


def _same(score: Score, first: TargetView, second: TargetView, what: str) -> None:
    a, b = score.value(first), score.value(second)
    near = np.isclose(b.value, a.value, rtol=1e-7, atol=1e-9) and a.status == b.status
    require(near, f"it depends on {what}: {a.value:.9g} and {b.value:.9g}")


def classes_view(
    n: int = 60, d: int = 8, n_classes: int = 3, *, signal: float = 2.0, seed: int = 0, n_source: int = 5
) -> TargetView:
    """Return Gaussian classes; the source head prefers one source class per class as far as there is signal."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_classes)
    means = rng.standard_normal((n_classes, d))
    features = signal * means[labels] + rng.standard_normal((n, d))
    logits = rng.standard_normal((n, n_source))
    logits[np.arange(n), labels % n_source] += 2 * signal
    return TargetView(features, labels.astype(np.int64), softmax(logits, axis=1))


def regression_view(
    n: int = 60, d: int = 8, n_outputs: int = 2, *, signal: float = 1.0, noise: float = 0.3, seed: int = 0
) -> TargetView:
    """Return linear functions of Gaussian features with noise."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n, d))
    clean = features @ rng.standard_normal((d, n_outputs)) / np.sqrt(d)
    return TargetView(features, signal * clean + noise * rng.standard_normal((n, n_outputs)))
