import numpy as np
import pytest

from transferscope.data.glyphs.layer import N_POSE_DRAWS, draw_poses, wobble_basis


def draws(n: int) -> np.ndarray:
    return np.random.default_rng(0).random((n, N_POSE_DRAWS))


def test_no_strength_is_the_identity() -> None:
    poses = draw_poses(draws(4), 0.0)
    np.testing.assert_allclose(poses.inverse, np.broadcast_to(np.eye(2), (4, 2, 2)), atol=1e-7)
    assert not poses.shift.any()
    assert not poses.wobble.any()
    assert not poses.stroke.any()


def test_the_inverse_undoes_scale_shear_and_rotation() -> None:
    uniforms = draws(1)
    angle, shear, width, height = (2 * uniforms[0, :4] - 1) * [np.deg2rad(17), 0.35, 0.2, 0.1]
    rotate = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    forward = rotate @ np.array([[1, shear], [0, 1]]) @ np.diag(np.exp([width, height]))
    np.testing.assert_allclose(draw_poses(uniforms, 1.0).inverse[0] @ forward, np.eye(2), atol=1e-5)


def test_twice_the_strength_is_twice_the_shift() -> None:
    np.testing.assert_allclose(draw_poses(draws(5), 2.0).shift, 2 * draw_poses(draws(5), 1.0).shift)


def test_scaling_enlarges_about_the_new_centre() -> None:
    poses = draw_poses(draws(2), 1.0)
    centre = np.array([[0.5, 0.0], [0.0, 0.5]], np.float32)
    scaled = poses.scaled(np.array([0.5, 2.0], np.float32), centre)
    np.testing.assert_allclose(scaled.inverse, poses.inverse * np.array([2.0, 0.5])[:, None, None], rtol=1e-6)
    np.testing.assert_array_equal(scaled.shift, centre)


@pytest.mark.parametrize("size", [8, 28])
def test_the_wobbles_weights_are_a_partition_of_unity(size: int) -> None:
    basis = wobble_basis(size)
    assert basis.min() >= 0
    np.testing.assert_allclose(basis.sum(axis=0), 1, atol=1e-6)
