"""Names of arrays and of folders of images."""

from pathlib import Path

from transferscope.data.image_files import ImageForm
from transferscope.data.image_folder import FolderParts, load_image_folder
from transferscope.data.npz import load_npz
from transferscope.data.places import find_path
from transferscope.data.readers.understood import KINDS, label_units_note, of_file, understood
from transferscope.data.spec import DataSpec
from transferscope.data.task import Dataset
from transferscope.errors import SettingsError

OF_TABLE = ("label", "file", "kind", "separator", "split")
"""Options of a folder whose labels lie in a table."""


def read_npz(spec: DataSpec, seed: int) -> Dataset:
    """Arrays of a file."""
    spec.allow(("channels", "kind"))
    path = find_path(spec.path)
    parts = load_npz(path, channels=spec.choice("channels", ("first", "last")), kind=spec.choice("kind", KINDS))
    return of_file(spec, path, parts)


def read_folder(spec: DataSpec, seed: int) -> Dataset:
    """Images with a sub-folder for each class."""
    spec.allow(("resize", "size", "test_share", "broken", *OF_TABLE))
    beside = [key for key in OF_TABLE if key in spec.options]
    if beside:
        raise SettingsError(f"{spec.text!r} gives {beside[0]} and no table of labels; name it with labels=FILE.csv")
    path = find_path(spec.path)
    return of_images(
        spec, path, load_image_folder(path, form=image_form(spec), test_share=spec.share("test_share"), seed=seed)
    )


def of_images(spec: DataSpec, path: Path, parts: FolderParts) -> Dataset:
    """Images with what they were taken for."""
    provenance = {"spec": spec.text, "address": str(path), "understood": understood(parts), **label_units_note(parts)}
    if parts.chosen_size is not None:
        provenance["size"] = str(parts.chosen_size)
    return Dataset(path.resolve().name, parts.train, parts.test, provenance)


def image_form(spec: DataSpec) -> ImageForm:
    """How images of a folder come to one size, by the options of its name; a SettingsError if they are wrong."""
    broken = spec.choice("broken", ("skip", "convert"))
    form = ImageForm(
        resize=spec.integer("resize"),
        size=spec.integer("size"),
        skip_broken=broken is not None,
        convert=broken == "convert",
    )
    if form.resize and form.size:
        raise SettingsError(
            f"{spec.text!r} gives resize and size; keep size to cut images to the square in their middle, or resize to "
            "stretch them to one"
        )
    return form
