"""Data that are computed are the same on every processor: other instructions of this one stand in for others."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from transferscope.data.portable import cosine, exponential, product, sine, tangent

CONTENT = """
import hashlib
import numpy as np
from transferscope.data.glyphs import GlyphSettings, glyphs
from transferscope_papers.sources.scenes import SceneSettings, scenes
from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms

everything = dict(colour=True, appearance="several", light="random", background="random", texture="with")
bytes_ = np.random.default_rng(0).integers(0, 256, (500, 3, 30, 30), dtype=np.uint8)
made = {
    "glyphs": glyphs(2048, seed=0).inputs,
    "glyphs with everything": glyphs(512, GlyphSettings(size=28, **everything), seed=0).inputs,
    "scenes": scenes(200, SceneSettings(size=32, **everything), seed=0).inputs,
}
for name, images, transforms in (
    ("resized", bytes_, ["resize:16"]),
    ("enlarged", bytes_, ["grey", "resize:44"]),
    ("resized numbers", (bytes_ / 255).astype(np.float32), ["resize:16"]),
    ("grey numbers", (bytes_ / 255).astype(np.float32), ["grey"]),
):
    data = LabelledSet(images, np.zeros(len(images), np.int64), ("a",))
    made[name] = apply_transforms(Dataset(name, data.take(np.arange(2)), data), transforms, seed=0).test.inputs
for name, images in made.items():
    print(name, hashlib.sha256(np.ascontiguousarray(images).data).hexdigest())
"""


def content(**surroundings: str) -> list[str]:
    """Checksums of data that a process computes in other surroundings."""
    done = subprocess.run(
        [sys.executable, "-c", CONTENT],
        env={**os.environ, **surroundings},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.long
def test_the_processor_and_the_threads_do_not_show() -> None:
    own = content(OMP_NUM_THREADS="1")
    assert len(own) == 7
    compiled = importlib.import_module("numpy._core._multiarray_umath")
    newer = [name for name in compiled.__cpu_dispatch__ if compiled.__cpu_features__.get(name)]
    others = {"NPY_DISABLE_CPU_FEATURES": ",".join(newer), "OPENBLAS_CORETYPE": "Sandybridge"}
    assert content(OMP_NUM_THREADS="2", **others) == own


@pytest.mark.parametrize(("own", "exact"), [(sine, np.sin), (cosine, np.cos), (tangent, np.tan), (exponential, np.exp)])
def test_functions_are_rounded_once(own: Callable[[np.ndarray], np.ndarray], exact: np.ufunc) -> None:
    x = np.random.default_rng(0).uniform(-4, 4, (30, 70)).astype(np.float32)
    np.testing.assert_array_equal(own(x), exact(x.astype(np.longdouble)).astype(np.float32))
    assert own(x[0, :0]).shape == (0,)


def test_a_product_is_rounded_once() -> None:
    random = np.random.default_rng(0)
    left, right = random.random((50, 16)).astype(np.float32), random.random((16, 90)).astype(np.float32)
    exact = np.einsum("ik,kj->ij", left.astype(np.longdouble), right.astype(np.longdouble))
    np.testing.assert_array_equal(product(left, right), exact.astype(np.float32))
