"""Names of data that are rendered, which have options and no path."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from transferscope.data.glyphs import GlyphSettings, load_glyphs
from transferscope.data.places import find_path
from transferscope.data.spec import DataSpec
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError


def read_glyphs(spec: DataSpec, seed: int) -> Dataset:
    """Render characters."""
    fonts = spec.one("fonts")
    own = {
        "characters": spec.one("characters"),
        "pose": spec.number("pose"),
        "fonts": None if fonts is None else str(find_path(fonts)),
    }
    return read_rendered(spec, own, lambda chosen, n: load_glyphs(**n, settings=GlyphSettings(**chosen), seed=seed))


def read_rendered(
    spec: DataSpec, own: Mapping[str, Any], load: Callable[[dict[str, Any], dict[str, int]], Dataset]
) -> Dataset:
    """Render images with the settings in a name: those of its kind, and those of all rendered kinds.

    Args:
        own: The settings of this kind by option; None if not given.
        load: Renders the data from the given settings and the numbers of images, `n_train` and `n_test`.

    Raises:
        SettingsError: The name has a path, an unknown option, or a value out of range.
    """
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; {spec.kind} accepts only options, as in '{spec.kind}?size=32'")
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
