"""Names of tables, and encodings shared with other tables and exported networks."""

from pathlib import Path

from transferscope.data.arrays import Parts
from transferscope.data.column_encoding import TableEncoding
from transferscope.data.frame import SUFFIXES, Format, form_of
from transferscope.data.input_form import table_of_network
from transferscope.data.places import find_path
from transferscope.data.readers.understood import as_dataset
from transferscope.data.spec import NETWORK_FILE, TABLES, DataSpec, parse_spec
from transferscope.data.tables import TableSettings, load_table, training_rows
from transferscope.data.task import KINDS, Dataset
from transferscope.errors import SettingsError
from transferscope.once import made_once

_TABLE_OPTIONS = (
    *("label", "drop", "keep", "kind", "separator", "category", "dates", "encoding", "together"),
    *("test", "split", "test_share", "group", "time"),
)


def read_table(spec: DataSpec, seed: int) -> Dataset:
    """Read a table, with its encoding."""
    path = find_path(spec.path)
    return as_dataset(spec, path, _table(spec, seed)[0], path.stem)


def table_form(spec: DataSpec) -> Format:
    """Return the format of a table by its name; raises SettingsError if it is unknown."""
    if spec.kind in ("csv", "parquet"):
        return "csv" if spec.kind == "csv" else "parquet"
    if not SUFFIXES.keys() & {suffix.lower() for suffix in Path(spec.path).suffixes}:
        raise SettingsError(
            f"{spec.text!r} does not end in {', '.join(SUFFIXES)}; write csv:{spec.path} or parquet:{spec.path}"
        )
    return form_of(Path(spec.path))


def table_encoding(spec: DataSpec, seed: int) -> TableEncoding:
    """Return the encoding of a table."""
    shared = _shared_encoding(spec, seed)
    return _table(spec, seed)[1] if shared is None else shared[0]


def _shared_encoding(spec: DataSpec, seed: int) -> tuple[TableEncoding, Path] | None:
    """Return the encoding named by a table, of another table or an exported network, and its origin."""
    shared = spec.one("encoding")
    if shared is None:
        return None
    if shared.endswith(NETWORK_FILE):
        file = find_path(shared)
        encoding = table_of_network(file)
        if encoding is None:
            raise SettingsError(
                f"{spec.text!r} shares the encoding of {shared}, which is not a network of tables; give another"
            )
        return encoding, file
    like = parse_spec(shared)
    if like.kind not in TABLES:
        raise SettingsError(f"{spec.text!r} shares the encoding of {like.text!r}, which is not a table; give a table")
    if "encoding" in like.options:
        raise SettingsError(f"{spec.text!r} shares the encoding of a table that shares one itself; give that one")
    return table_encoding(like, seed), find_path(like.path)


@made_once(lambda spec, seed: (spec.text, seed))
def _table(spec: DataSpec, seed: int) -> tuple[Parts, TableEncoding]:
    spec.allow(_TABLE_OPTIONS)
    path, shared = find_path(spec.path), _shared_encoding(spec, seed)
    others = [parse_spec(name) for name in spec.options.get("together", ())]
    for other in others:
        if other.kind not in TABLES or shared is not None:
            raise SettingsError(
                f"{spec.text!r} is encoded together with {other.text!r}; expected two tables without encoding="
            )
    beside = [
        training_rows(find_path(other.path), _table_settings(other), form=table_form(other), seed=seed)
        for other in others
    ]
    read = load_table(path, _table_settings(spec), form=table_form(spec), seed=seed, shared=shared, beside=beside)
    for part in (read[0].train, read[0].test):  # other readers use them too
        part.inputs.flags.writeable = part.labels.flags.writeable = False
    return read


def _table_settings(spec: DataSpec) -> TableSettings:
    test_file = spec.one("test")
    return TableSettings(
        labels=spec.options.get("label", ()),
        drop=spec.options.get("drop", ()),
        kind=spec.choice("kind", KINDS),
        separator=spec.one("separator"),
        categories=spec.options.get("category", ()),
        keep=spec.options.get("keep", ()),
        dates=spec.choice("dates", ("day-first", "month-first")),
        test_file=None if test_file is None else find_path(test_file),
        split=spec.one("split"),
        test_share=spec.share("test_share"),
        group=spec.one("group"),
        time=spec.one("time"),
    )
