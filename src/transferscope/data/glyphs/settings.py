"""Settings of rendered characters."""

from dataclasses import dataclass
from typing import Literal

from transferscope.data.arrays import check_side
from transferscope.errors import SettingsError


@dataclass(frozen=True, slots=True)
class GlyphSettings:
    """The complexity of rendered characters.

    The four settings `appearance`, `light`, `background` and `texture` follow section 4.5 and appendix F of "A Scaling
    Law for Syn2Real Transfer" (Mikami et al. 2021), where they say what a rendered scene contains. At their defaults
    the images resemble MNIST: one white character on black.

    Attributes:
        characters: The classes, in label order; at least 1 character, all different.
        size: Height and width in pixels, from 8 to `arrays.LARGEST_SIDE`.
        colour: Whether images have three channels (light, backgrounds and textures are then coloured) or one.
        appearance: "single", or "several": up to 4 smaller characters or fragments around and behind the labelled one.
        light: "fixed" (from the front), or "random": from a random side with random strength, which shades the scene
            and makes the characters stand out in relief.
        background: "fixed" (black), or "random": a random texture, darker than the characters on average.
        texture: "without" (white characters), or "with": each character has its own stripes, as each object of the
            paper has its own surface. Textures then tell the classes apart as well as shapes do.
        pose: Strength of the random shift, scale, rotation, shear, stroke width and wobble; 0 for upright characters of
            equal size, 1 for about the variation of handwriting; in [0, 2].
        fonts: Folder with TrueType or OpenType fonts; None for those that come with matplotlib.

    Raises:
        SettingsError: A value is out of its range.
    """

    characters: str = "0123456789"
    size: int = 28
    colour: bool = False
    appearance: Literal["single", "several"] = "single"
    light: Literal["fixed", "random"] = "fixed"
    background: Literal["fixed", "random"] = "fixed"
    texture: Literal["without", "with"] = "without"
    pose: float = 1.0
    fonts: str | None = None

    def __post_init__(self) -> None:
        """Check every range."""
        if not self.characters or len(set(self.characters)) != len(self.characters):
            raise SettingsError(f"characters = {self.characters!r} must name at least one, and each only once")
        if any(character.isspace() for character in self.characters):
            raise SettingsError(f"characters = {self.characters!r} holds a space, which cannot be seen; leave it out")
        if self.size < 8:
            raise SettingsError(f"size = {self.size} is too small to show a character; expected at least 8 pixels")
        check_side(self.size, f"size = {self.size}")
        if not 0 <= self.pose <= 2:
            raise SettingsError(f"pose = {self.pose} is out of range; expected 0 (upright) to 2")
        choices = {
            "appearance": ("single", "several"),
            "light": ("fixed", "random"),
            "background": ("fixed", "random"),
            "texture": ("without", "with"),
        }
        for name, valid in choices.items():
            if getattr(self, name) not in valid:
                raise SettingsError(f"{name} = {getattr(self, name)!r} is unknown; expected {' or '.join(valid)}")

    @property
    def n_channels(self) -> int:
        """Channels of an image: 3 in colour, 1 in grey."""
        return 3 if self.colour else 1
