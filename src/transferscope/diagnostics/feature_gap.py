"""How much of the target function lies outside the feature space."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import feature_array, label_codes
from transferscope.diagnostics.subject import Subject
from transferscope.estimate import Estimate
from transferscope.numerics.jackknife import ratio_of_means
from transferscope.records import Meaning

RIDGES = tuple(float(ridge) for ridge in np.logspace(-6, 3, 19))
"""Ridges that cross-validation chooses from, relative to the mean squared norm of the features times their number."""


def unexplained_share(
    features: Float[np.ndarray, "N D"], codes: Float[np.ndarray, "N C"], *, n_folds: int = 5, seed: int = 0
) -> Estimate:
    """Share of the labels' variance that no linear head on the features explains, on held-out examples.

        sum_i ||y_i - yhat_i||^2 / sum_i ||y_i - ybar_i||^2

    where yhat and the mean ybar come from the other folds, and the ridge of yhat is chosen among them by leave-one-out.
    With many examples it tends to ||P_perp f||^2 / ||f||^2, the irreducible error of linear transfer ("Features are
    fate", equation 21) plus the noise; with few it also holds what the head could not learn.

    Args:
        features: Shape (N, D).
        codes: y, shape (N, C).
        n_folds: Folds, at least 2; at most N are used.

    Returns:
        The share with a standard error over examples (delta method); slightly above 1 for useless features; "too_few"
        with fewer than 4 examples, "undefined" when labels do not vary or features are not finite.
    """
    n = len(features)
    if n < 4:
        return Estimate.missing("too_few", n)
    if not np.isfinite(features).all() or (codes == codes[0]).all():
        return Estimate.missing("undefined", n)
    order = np.random.default_rng(seed).permutation(n)
    residuals, totals = np.zeros(n), np.zeros(n)
    for held_out in np.array_split(order, min(n_folds, n)):
        kept = np.setdiff1d(order, held_out)
        predictions = _ridge_predictions(features[kept], codes[kept], features[held_out])
        residuals[held_out] = ((codes[held_out] - predictions) ** 2).sum(axis=1)
        totals[held_out] = ((codes[held_out] - codes[kept].mean(axis=0)) ** 2).sum(axis=1)
    return ratio_of_means(residuals, totals)


def _ridge_predictions(features: np.ndarray, codes: np.ndarray, others: np.ndarray) -> np.ndarray:
    from sklearn.linear_model import RidgeCV

    centre = features.mean(axis=0)
    scale = np.sqrt(((features - centre) ** 2).sum()) or 1.0
    model = RidgeCV(alphas=RIDGES).fit((features - centre) / scale, codes)
    predictions: np.ndarray = model.predict((others - centre) / scale)
    return predictions.reshape(len(others), -1)


@dataclass(frozen=True)
class FeatureGap(Diagnostic):
    """Share of the target function outside the feature space (cross-fitted ridge residual)."""

    name: ClassVar[str] = "feature-gap"
    headline: ClassVar[str] = "unexplained_share"
    meaning: ClassVar[Meaning] = Meaning(
        "share of the target outside the features",
        lower="less of the target outside the features",
        higher="more of the target outside the features",
        expected="lower",
        share=True,
        limits=(
            "With few examples it mixes what the features cannot express with what a head cannot learn from so "
            "little; label noise counts as outside."
        ),
    )
    looks_at: ClassVar[str] = "features"

    def measure(self, subject: Subject) -> Findings:
        """Record "unexplained_share"."""
        features = feature_array(subject)
        codes = label_codes(subject.examples)
        share = unexplained_share(features, codes)
        return Findings.of(subject, {"unexplained_share": share})
