"""Names of characters and scenes that are rendered."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from transferscope.data.glyphs import GlyphSettings, load_glyphs
from transferscope.data.places import find_path
from transferscope.data.scenes import SceneSettings, load_scenes
from transferscope.data.spec import DataSpec
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError, refuse_unused


def read_glyphs(spec: DataSpec, seed: int) -> Dataset:
    """Rendered characters."""
    fonts = spec.one("fonts")
    own = {
        "characters": spec.one("characters"),
        "pose": spec.number("pose"),
        "fonts": None if fonts is None else str(find_path(fonts)),
    }
    return _rendered(spec, own, lambda chosen, n: load_glyphs(**n, settings=GlyphSettings(**chosen), seed=seed))


def read_scenes(spec: DataSpec, seed: int) -> Dataset:
    """Rendered solids."""
    kinds = spec.one("kinds")
    unused = "objects" in spec.options and spec.one("appearance") != "several"
    refuse_unused({"objects": unused}, "one solid is in an image but with appearance=several")
    own = {
        "task": spec.one("task"),
        "kinds": None if kinds is None else tuple(kind.strip() for kind in kinds.split(",")),
        "objects": spec.integer("objects"),
        "grid": spec.integer("grid"),
    }
    return _rendered(spec, own, lambda chosen, n: load_scenes(**n, settings=SceneSettings(**chosen), seed=seed))


def _rendered(
    spec: DataSpec, own: Mapping[str, Any], load: Callable[[dict[str, Any], dict[str, int]], Dataset]
) -> Dataset:
    """What is made with the settings that a name gives, those of this kind and those that both kinds have."""
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; {spec.kind} have options only, as in '{spec.kind}?size=32'")
    colour = spec.choice("colour", ("yes", "no"))
    settings = {
        **own,
        "size": spec.integer("size"),
        "colour": None if colour is None else colour == "yes",
        **{name: spec.one(name) for name in ("appearance", "light", "background", "texture")},
    }
    spec.allow(("n_train", "n_test", *settings))
    numbers = {"n_train": spec.integer("n_train"), "n_test": spec.integer("n_test")}
    dataset = load(
        {key: value for key, value in settings.items() if value is not None},
        {key: value for key, value in numbers.items() if value is not None},
    )
    return replace(dataset, provenance={**dataset.provenance, "spec": spec.text})
