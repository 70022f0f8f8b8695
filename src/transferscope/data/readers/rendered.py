"""Names of characters and scenes that are rendered."""

from dataclasses import replace
from typing import Any, get_args

from transferscope.data.glyphs import GlyphSettings, load_glyphs
from transferscope.data.places import find_path
from transferscope.data.scenes import SceneSettings, load_scenes
from transferscope.data.scenes.settings import SceneTask
from transferscope.data.spec import DataSpec
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError

_N_RENDERED, _N_TEST_RENDERED = 10_000, 2_000


def read_glyphs(spec: DataSpec, seed: int) -> Dataset:
    """Rendered characters."""
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; glyphs have options only, as in 'glyphs?characters=abc'")
    fonts = spec.one("fonts")
    settings = {
        "characters": spec.one("characters"),
        **_complexity(spec),
        "pose": spec.number("pose"),
        "fonts": None if fonts is None else str(find_path(fonts)),
    }
    spec.allow(("n_train", "n_test", *settings))
    chosen: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    dataset = load_glyphs(
        n_train=spec.integer("n_train") or _N_RENDERED,
        n_test=spec.integer("n_test") or _N_TEST_RENDERED,
        settings=GlyphSettings(**chosen),
        seed=seed,
    )
    return replace(dataset, provenance={**dataset.provenance, "spec": spec.text})


def read_scenes(spec: DataSpec, seed: int) -> Dataset:
    """Rendered solids."""
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; scenes have options only, as in 'scenes?task=count'")
    kinds = spec.one("kinds")
    settings = {
        "task": spec.choice("task", get_args(SceneTask)),
        "kinds": None if kinds is None else tuple(kind.strip() for kind in kinds.split(",")),
        **_complexity(spec),
        "objects": spec.integer("objects"),
        "grid": spec.integer("grid"),
    }
    spec.allow(("n_train", "n_test", *settings))
    dataset = load_scenes(
        n_train=spec.integer("n_train") or _N_RENDERED,
        n_test=spec.integer("n_test") or _N_TEST_RENDERED,
        settings=SceneSettings(**{key: value for key, value in settings.items() if value is not None}),
        seed=seed,
    )
    return replace(dataset, provenance={**dataset.provenance, "spec": spec.text})


def _complexity(spec: DataSpec) -> dict[str, Any]:
    """What glyphs and scenes have in common; None for what is not said."""
    colour = spec.choice("colour", ("yes", "no"))
    return {
        "size": spec.integer("size"),
        "colour": None if colour is None else colour == "yes",
        "appearance": spec.choice("appearance", ("single", "several")),
        "light": spec.choice("light", ("fixed", "random")),
        "background": spec.choice("background", ("fixed", "random")),
        "texture": spec.choice("texture", ("without", "with")),
    }
