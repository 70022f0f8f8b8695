"""Settings of the complexity and the task of scenes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Le

from transferscope.errors import SettingsError, unknown_name
from transferscope.records import Count, check_settings
from transferscope_papers.sources.scenes.solids import SIMPLE, SOLIDS

MOST_OBJECTS = 10  # as in the paper
LARGEST = 512  # pixels on a side


@dataclass(frozen=True, slots=True)
class SceneSettings:
    """The complexity of rendered scenes, and their labels.

    `appearance`, `light`, `background` and `texture` are the four attributes of section 4.5 of "A Scaling Law for
    Syn2Real Transfer" (Mikami et al. 2021). Each has random numbers of its own: two sources that differ only in the
    light show the same solids in the same poses before the same camera.

    Attributes:
        task: Labels. "class": the kind of the solid that takes up most of the image. "kinds": all kinds in
            it (several labels of each image). "count": number of solids, as classes. "box": middle (x, y), width and
            height of the largest solid, over the image's side (regression). "segmentation": the most frequent kind, or
            "background", in each cell of a grid. "normals": the mean unit normal of the surfaces seen in each cell, to
            the right, upwards and towards the camera (regression on the grid). Solids count if they cover at least 1 %
            of the image.
        kinds: Kinds of solids, in label order; at least 2, all different. Those of SIMPLE, and each flat, thin or
            tall, as in "flat-cone".
        size: Height and width in pixels, 8 to 512.
        colour: Whether images have three channels or one.
        appearance: "single" solid, or "several": 2 to `objects` solids.
        objects: Largest number of solids with "several", 2 to 10.
        light: "fixed" direction, colour and strength, or "random".
        background: "fixed": grey floor and wall; "random": textures of two random colours on each.
        texture: "without": all solids are of one light grey; "with": each kind has its own pattern and colours, as each
            object of the paper has its own surface, so that textures identify the kinds as well as shapes do.
        grid: Rows and columns of the labels of "segmentation" and "normals"; divides `size`.

    Raises:
        SettingsError: A value is out of its range.
    """

    task: Literal["class", "kinds", "count", "box", "segmentation", "normals"] = "class"
    kinds: tuple[str, ...] = SIMPLE
    size: Annotated[int, Ge(8), Le(LARGEST)] = 32
    colour: bool = True
    appearance: Literal["single", "several"] = "single"
    objects: Annotated[int, Ge(2), Le(MOST_OBJECTS)] = 6
    light: Literal["fixed", "random"] = "fixed"
    background: Literal["fixed", "random"] = "fixed"
    texture: Literal["without", "with"] = "without"
    grid: Count = 8

    def __post_init__(self) -> None:
        check_settings(self)
        if len(self.kinds) < 2 or len(set(self.kinds)) != len(self.kinds):
            raise SettingsError(f"kinds = {', '.join(self.kinds)!r}; expected at least two, each once")
        for kind in self.kinds:
            if kind not in SOLIDS:
                raise unknown_name("kind of solid", kind, SOLIDS)
        if self.task in ("segmentation", "normals") and self.size % self.grid:
            raise SettingsError(
                f"grid = {self.grid} does not divide size = {self.size}; expected as many pixels in every cell"
            )
        if self.task == "count" and self.appearance == "single":
            raise SettingsError("task = 'count' needs scenes of several solids; set appearance = 'several'")
