"""A data set of your own, on one page, as a template to copy.

    transferscope compare "examples/data.py:two_moons?noise=0.1&turn=0.5" --from examples/data.py:two_moons --labels 20

or in a study file

    [target]
    data = "examples/data.py:two_moons?noise=0.1"

What a function returns is fingerprinted, and the fingerprint is part of every result's key: the same name with other
numbers never meets an older result.
"""

import numpy as np

from transferscope.data import Dataset, DataSpec, LabelledSet
from transferscope.errors import SettingsError


def two_moons(spec: DataSpec, seed: int) -> Dataset:
    """Two interleaved half circles in the plane, with Gaussian noise.

    Args:
        spec: The name as it was given; its options are n (examples in each part), noise (standard deviation, at least
            0) and turn (an angle in radians).
        seed: Seed of all that is drawn.

    Returns:
        Training and test examples with two classes.

    Raises:
        SettingsError: An option is unknown or out of range.
    """
    spec.allow(("n", "noise", "turn"))
    n, noise, turn = spec.integer("n") or 200, spec.number("noise") or 0.0, spec.number("turn") or 0.0
    if noise < 0:
        raise SettingsError(f"{spec.text!r} has noise = {noise}; expected a standard deviation of at least 0")
    generator = np.random.default_rng(seed)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])

    def moons() -> LabelledSet:
        labels = np.arange(n) % 2
        angle = np.pi * (generator.random(n) + labels)
        points = np.stack([np.cos(angle) + labels, np.sin(angle) + 0.5 * labels], axis=1)  # (n, 2)
        inputs = (points + noise * generator.normal(size=(n, 2))) @ rotation.T
        return LabelledSet(inputs.astype(np.float32), labels, ("upper", "lower"))

    return Dataset("two-moons", moons(), moons(), {"licence": "made here"})
