"""Names of arrays and of folders of images."""

from transferscope.data.arrays import check_side
from transferscope.data.image_files import ImageForm
from transferscope.data.image_folder import load_image_folder
from transferscope.data.npz import load_npz
from transferscope.data.places import find_path
from transferscope.data.readers.understood import as_dataset, checksum_of
from transferscope.data.spec import DataSpec
from transferscope.data.task import KINDS, Dataset
from transferscope.errors import SettingsError

_OF_TABLE = ("label", "file", "kind", "separator", "split", "group", "time")
"""Options of a folder whose labels lie in a table."""


def read_npz(spec: DataSpec, seed: int) -> Dataset:
    """Read arrays of a file."""
    spec.allow(("channels", "kind", "keep", "test_share", "group", "time"))
    path, keep = find_path(spec.path), [one for given in spec.options.get("keep", ()) for one in given.split(",")]
    if not all(one.isdecimal() for one in keep):
        raise SettingsError(f"{spec.text!r} has keep = {','.join(keep)!r}; expected numbers of features, as in keep=0")
    parts = load_npz(
        path,
        channels=spec.choice("channels", ("first", "last")),
        kind=spec.choice("kind", KINDS),
        keep=[int(one) for one in keep],
        test_share=spec.share("test_share"),
        group=spec.one("group"),
        time=spec.one("time"),
        seed=seed,
    )
    return as_dataset(spec, path, parts, path.stem, checksum=checksum_of(path))


def read_folder(spec: DataSpec, seed: int) -> Dataset:
    """Read images with one sub-folder per class, or with the labels of a table."""
    spec.allow(("resize", "size", "test_share", "broken", "labels", *_OF_TABLE))
    beside = [key for key in _OF_TABLE if key in spec.options]
    labels = spec.one("labels")
    if beside and labels is None:
        raise SettingsError(f"{spec.text!r} gives {beside[0]} without a table of labels; add labels=FILE.csv")
    path, form, test_share = find_path(spec.path), image_form(spec), spec.share("test_share")
    if labels is None:
        parts = load_image_folder(path, form=form, test_share=test_share, seed=seed)
    else:
        from transferscope.data.image_labels import load_labelled_images  # imports pandas, which is slow
        from transferscope.data.tables import TableSettings

        settings = TableSettings(
            labels=spec.options.get("label", ("label",)),
            kind=spec.choice("kind", KINDS),
            separator=spec.one("separator"),
            split=spec.one("split"),
            test_share=test_share,
            group=spec.one("group"),
            time=spec.one("time"),
        )
        file_column = spec.one("file")
        parts = load_labelled_images(path, find_path(labels), settings, file_column=file_column, form=form, seed=seed)
    return as_dataset(spec, path, parts, path.resolve().name)


def image_form(spec: DataSpec) -> ImageForm:
    """Return the image form of a folder, by the options of its name; raises SettingsError if they are wrong."""
    broken = spec.choice("broken", ("skip", "convert"))
    form = ImageForm(
        resize=spec.integer("resize"),
        size=spec.integer("size"),
        skip_broken=broken is not None,
        convert=broken == "convert",
    )
    for key, side in (("resize", form.resize), ("size", form.size)):
        if side is not None:
            check_side(side, f"{spec.path}?{key}={side}")
    if form.resize and form.size:
        raise SettingsError(
            f"{spec.text!r} gives resize and size; keep size to crop images to the central square, or resize to "
            "stretch them"
        )
    return form
