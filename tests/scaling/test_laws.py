"""Every law: its gradient against finite differences, its units, its domain."""

import numpy as np
import pytest

from transferscope.scaling.laws import LAWS, Law, law_named

ONE_SIZE = np.geomspace(1.0, 50.0, 6)[:, None]
TWO_SIZES = np.stack([np.geomspace(1.0, 50.0, 6), np.geomspace(90.0, 3.0, 6)], axis=1)

laws = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())


def sizes_for(law: Law) -> np.ndarray:
    return ONE_SIZE if law.n_sizes == 1 else TWO_SIZES


def parameters_of(law: Law) -> np.ndarray:
    eta = law.grid[[len(law.grid) // 3, len(law.grid) // 2]]
    c = np.linspace(0.3, 0.9, 2 * len(law.linear)).reshape(2, -1)
    return np.concatenate([eta, c], axis=1)


@laws
def test_gradient_is_that_of_the_value(law: Law) -> None:
    x, theta = sizes_for(law), parameters_of(law)
    numeric = np.zeros_like(law.gradient(x, theta))
    for j in range(theta.shape[1]):
        h = 1e-6 * np.maximum(np.abs(theta[:, j]), 1e-3)
        up, down = theta.copy(), theta.copy()
        up[:, j] += h
        down[:, j] -= h
        numeric[:, :, j] = (law.value(x, up) - law.value(x, down)) / (2 * h)[:, None]
    np.testing.assert_allclose(law.gradient(x, theta), numeric, rtol=2e-5, atol=1e-7)


@laws
def test_a_change_of_unit_leaves_the_curve(law: Law) -> None:
    x, theta = sizes_for(law), parameters_of(law)
    unit = np.array([7.0, 300.0])[: law.n_sizes]
    np.testing.assert_allclose(law.value(x / unit, law.in_unit(theta, unit)), law.value(x, theta), rtol=1e-10)


@laws
def test_zero_is_in_the_domain_only_where_the_value_is_finite(law: Law) -> None:
    x = sizes_for(law).copy()
    x[0, 0] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        value, gradient = law.value(x, parameters_of(law)), law.gradient(x, parameters_of(law))
    with_powers_of_size = "power power+floor saturating-power broken-power coupled full full+floor additive product"
    assert law.defined_at(x)[0] == (law.name not in with_powers_of_size.split())
    if law.defined_at(x)[0]:
        assert np.isfinite(value).all()
        assert np.isfinite(gradient).all()


@laws
def test_the_grid_lies_within_the_bounds(law: Law) -> None:
    low, high = law.bounds(np.ones(law.n_sizes))[:, : len(law.nonlinear)]
    assert ((law.grid >= low) & (law.grid <= high)).all()


def test_the_sigmoid_solves_its_implicit_equation() -> None:
    law, x = law_named("sigmoid"), ONE_SIZE
    alpha, x_c, a, height, C = theta = np.array([0.7, 9.0, 2.5, 0.6, 0.2])
    z = (law.value(x, theta[None])[0] - C) / height
    np.testing.assert_allclose(z / (1 - z) ** a, (x[:, 0] / x_c) ** -alpha, rtol=1e-9)
