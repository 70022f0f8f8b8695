"""Names of folders of images whose labels lie in a table."""

from transferscope.data.image_labels import load_labelled_images
from transferscope.data.places import find_path
from transferscope.data.readers.images import OF_TABLE, image_form
from transferscope.data.readers.understood import KINDS, as_dataset
from transferscope.data.spec import DataSpec
from transferscope.data.tables import TableSettings
from transferscope.data.task import Dataset


def read_labelled_images(spec: DataSpec, seed: int) -> Dataset:
    """Images of a folder with the labels that a table gives them."""
    spec.allow(("resize", "size", "test_share", "broken", "labels", *OF_TABLE))
    path = find_path(spec.path)
    settings = TableSettings(
        labels=spec.options.get("label", ("label",)),
        kind=spec.choice("kind", KINDS),
        separator=spec.one("separator"),
        split=spec.one("split"),
        test_share=spec.share("test_share"),
    )
    table, form = find_path(spec.one("labels") or ""), image_form(spec)
    parts = load_labelled_images(path, table, settings, file_column=spec.one("file"), form=form, seed=seed)
    return as_dataset(spec, path, parts, path.resolve().name)
