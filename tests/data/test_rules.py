"""Rules that hold for all that read data: each rule with each reader, and each way of writing a table with each use."""

import datetime
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from data.test_hf_dataset import images, save
from data.test_texts import Words
from transferscope import plan, scaling
from transferscope.analyses.history.records import known_rows
from transferscope.analyses.plan import LabelColumns
from transferscope.data.load import load
from transferscope.data.task import LabelledSet
from transferscope.data.texts import TextSettings, load_texts
from transferscope.data.unlabelled import input_form, read_unlabelled
from transferscope.errors import DataError, TransferscopeError

Labels = list[Any]


def _csv(folder: Path, labels: Labels) -> LabelledSet:
    rows = "".join(f"{i / 7},{label}\n" for i, label in enumerate(labels))
    (folder / "own.csv").write_text(f"x,y\n{rows}")
    return load(f"csv:{folder}/own.csv?label=y").train


def _parquet(folder: Path, labels: Labels) -> LabelledSet:
    pd.DataFrame({"x": np.linspace(0, 1, len(labels)), "y": labels}).to_parquet(folder / "own.parquet")
    return load(f"parquet:{folder}/own.parquet?label=y").train


def _json_lines(folder: Path, labels: Labels) -> LabelledSet:
    rows = [{"x": i / 7, "y": label} for i, label in enumerate(labels)]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load(f"table:{folder}/own.jsonl?label=y").train


def _npz(folder: Path, labels: Labels) -> LabelledSet:
    x, y = np.linspace(0, 1, 2 * len(labels)).reshape(-1, 2), np.array(labels)
    np.savez(folder / "own.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    return load(f"npz:{folder}/own.npz").train


def _saved(folder: Path, labels: Labels) -> LabelledSet:
    pa = pytest.importorskip("pyarrow")
    save(folder, {"image": {"_type": "Image"}}, images(len(labels), labels, kind=pa.array(labels).type))
    return load(f"hf-dataset:{folder}").train


def _texts(suffix: str) -> Callable[[Path, Labels], LabelledSet]:
    def read(folder: Path, labels: Labels) -> LabelledSet:
        path = folder / f"own.{suffix}"
        rows = [{"a": f"word {i}", "y": label} for i, label in enumerate(labels)]
        lines = (
            [json.dumps(row) for row in rows] if suffix == "jsonl" else ["a,y", *(f"{r['a']},{r['y']}" for r in rows)]
        )
        path.write_text("\n".join(lines) + "\n")
        return load_texts(path, TextSettings("a", None, "y", max_length=4), Words(), seed=0).train

    return read


def _labelled_folder(folder: Path, labels: Labels) -> LabelledSet:
    for i, _ in enumerate(labels):
        Image.fromarray(np.full((4, 4), i, np.uint8)).save(folder / f"{i:03}.png")
    (folder / "labels.csv").write_text("file,y\n" + "".join(f"{i:03}.png,{label}\n" for i, label in enumerate(labels)))
    return load(f"folder:{folder}?labels={folder}/labels.csv&label=y").train


def _class_folders(folder: Path, labels: Labels) -> LabelledSet:
    for i, label in enumerate(labels):
        (folder / str(label)).mkdir(exist_ok=True)
        Image.fromarray(np.full((4, 4), i, np.uint8)).save(folder / str(label) / f"{i}.png")
    return load(f"folder:{folder}").train


READERS: dict[str, Callable[[Path, Labels], LabelledSet]] = {
    "csv": _csv,
    "parquet": _parquet,
    "json lines": _json_lines,
    "npz": _npz,
    "saved": _saved,
    "texts in jsonl": _texts("jsonl"),
    "texts": _texts("csv"),
    "labelled folder": _labelled_folder,
    "class folders": _class_folders,
}
KEPT: list[tuple[Labels, tuple[str, ...]]] = [
    ([1, 2, 3] * 10, ("1", "2", "3")),
    (["1E2", "1E3", "2E2"] * 10, ("1E2", "1E3", "2E2")),  # strains of a bacterium
    (["01067", "10115"] * 10, ("01067", "10115")),  # post codes
    (["007", "008", "M"] * 10, ("007", "008", "M")),
    (["a", "A"] * 10, ("A", "a")),  # letters are what letters are
]
REFUSED: list[tuple[Labels, str]] = [
    ([0.0, 1.0] * 10, "could be classes"),
    ([1.0, 2.0, 3.0] * 10, "could be classes"),
    ([100 * (i // 2) for i in range(60)], "could be .*numbers? to predict"),
    (["yes", "no", "yes "] * 10, "by spaces"),
    (["Oak tree", "oak tree", "elm"] * 10, "by capital letters"),
]


@pytest.mark.parametrize(("labels", "classes"), KEPT)
@pytest.mark.parametrize("reader", READERS)
def test_classes_are_called_as_they_stand_whoever_reads_them(
    tmp_path: Path, reader: str, labels: Labels, classes: tuple[str, ...]
) -> None:
    found = READERS[reader](tmp_path, labels)
    assert (found.kind, found.classes) == ("classification", classes)


@pytest.mark.parametrize(("labels", "said"), REFUSED)
@pytest.mark.parametrize("reader", READERS)
def test_labels_that_could_mean_two_things_are_refused_whoever_reads_them(
    tmp_path: Path, reader: str, labels: Labels, said: str
) -> None:
    if reader == "class folders" and not isinstance(labels[0], str):
        assert READERS[reader](tmp_path, labels).kind == "classification"  # a folder is a class, whatever it is called
        return
    with pytest.raises(DataError, match=said):
        READERS[reader](tmp_path, labels)


@pytest.mark.parametrize("reader", sorted(set(READERS) - {"class folders"}))
def test_numbers_to_predict_are_counted_in_units_of_about_1_whoever_reads_them(tmp_path: Path, reader: str) -> None:
    """By a power of 10 after a shift, so that their order and their ratios of differences stay."""
    labels = [401.5 + 30 * (7 * i % 20) for i in range(20)]
    found = READERS[reader](tmp_path, labels)
    numbers = np.sort(found.labels[:, 0].astype(np.float64))
    assert found.kind == "regression"
    assert 0.1 < numbers.std() < 10
    steps = np.diff(numbers) / 0.3
    assert steps == pytest.approx(np.round(steps), abs=1e-3)


@pytest.mark.parametrize("kind", [np.bool_, np.uint8, np.int64, np.float32])
def test_one_hot_labels_are_refused_in_every_type(tmp_path: Path, kind: type) -> None:
    with pytest.raises(DataError, match="one-hot over 4 columns"):
        _npz(tmp_path, np.eye(4, dtype=kind)[np.arange(20) % 4])  # type: ignore[arg-type]
    if kind is not np.bool_:
        with pytest.raises(DataError, match="lists of 4 numbers 0 and 1"):
            _saved(tmp_path / "saved", np.eye(4, dtype=kind)[np.arange(20) % 4].tolist())


@pytest.mark.parametrize("labels", [np.eye(3)[:, :, None, None] * np.ones((1, 1, 4, 4)), np.ones((3, 4, 4))])
def test_classes_of_cells_in_floating_point_are_refused_until_it_is_said(tmp_path: Path, labels: np.ndarray) -> None:
    x = np.zeros((3, 8, 8), np.uint8)
    np.savez(tmp_path / "own.npz", x_train=x, y_train=labels, x_test=x, y_test=labels)
    with pytest.raises(DataError, match="whole numbers in floating point"):
        load(f"npz:{tmp_path}/own.npz")
    assert load(f"npz:{tmp_path}/own.npz?kind=regression").train.kind == "dense regression"


PLAIN = "city,code,price,share,sold,kind\n" + "".join(
    f"Z{'uü'[i % 2]}rich,{['01067', '10115'][i // 2 % 2]},{1000 + 37.5 * i},{i / 8},2021-03-{i + 1:02},{'ab'[i % 2]}\n"
    for i in range(24)
)


def _cells(change: Callable[[str, str], str]) -> list[list[str]]:
    names, *rows = (line.split(",") for line in PLAIN.splitlines())
    return [names, *([change(name, cell) for name, cell in zip(names, row, strict=True)] for row in rows)]


def _joined(separator: str, change: Callable[[str, str], str] = lambda _, cell: cell) -> str:
    return "".join(separator.join(row) + "\n" for row in _cells(change))


def _german(name: str, cell: str) -> str:
    return f"{float(cell):,.3f}".translate(str.maketrans(",.", ".,")) if name in ("price", "share") else cell


def _fractions_plain(name: str, cell: str) -> str:
    return f"{float(cell) / 2048:.3f}" if name in ("price", "share") else cell


def _fractions(name: str, cell: str) -> str:
    return _fractions_plain(name, cell).replace(".", ",")


def _american(name: str, cell: str) -> str:
    if name == "sold":
        return datetime.date.fromisoformat(cell).strftime("%d-%b-%y")
    return f'"{float(cell):,.2f}"' if name == "price" else cell


def _gaps(mark: str) -> str:
    return PLAIN.replace("1037.5,", f"{mark},")


WRITINGS: dict[str, tuple[bytes, str]] = {
    "semicolons": (_joined(";").encode(), PLAIN),
    "decimal commas": (_joined(";", _german).encode(), PLAIN),
    "decimal commas, tabs": (_joined("\t", _german).encode(), PLAIN),
    "decimal commas below 1": (_joined(";", _fractions).encode(), _joined(",", _fractions_plain)),
    "tabs": (_joined("\t").encode(), PLAIN),
    "bars": (_joined("|").encode(), PLAIN),
    "line of a spreadsheet": (b"sep=;\n" + _joined(";").encode(), PLAIN),
    "thousands and months": (_joined(",", _american).encode(), PLAIN),
    "Windows-1252": (PLAIN.encode("cp1252"), PLAIN),
    "Latin-1": ((PLAIN.replace("ü", "\x81")).encode("latin-1"), PLAIN.replace("ü", "\x81")),  # no Windows-1252
    "UTF-16": (PLAIN.encode("utf-16"), PLAIN),
    "UTF-8 with a mark": (PLAIN.encode("utf-8-sig"), PLAIN),
    "spaces beside names": (PLAIN.replace("price,share", " price , share").encode(), PLAIN),
    "a last row Total": ((PLAIN + "Total,,34350,34.5,,\n").encode(), PLAIN),
    "?": (_gaps("?").encode(), _gaps("")),
    "-": (_gaps("-").encode(), _gaps("")),
}


@pytest.mark.parametrize("writing", WRITINGS)
def test_a_table_says_the_same_however_it_is_written(tmp_path: Path, writing: str) -> None:
    content, plain = WRITINGS[writing]
    (tmp_path / "own.csv").write_bytes(content)
    (tmp_path / "plain.csv").write_text(plain, encoding="utf-8")
    own, other = (load(f"csv:{tmp_path}/{name}.csv?label=kind") for name in ("own", "plain"))
    assert own.fingerprint == other.fingerprint
    assert "code" in own.provenance["columns"]
    assert "category of 2 values" in own.provenance["columns"]


def test_a_column_of_points_and_commas_is_read_as_its_file_has_them_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("x,kind\n" + '1.101,a\n"2,101",b\n' * 6)
    found = load(f"csv:{tmp_path}/own.csv?label=kind&test_share=0.5")
    assert set(np.unique(found.train.inputs)) == {np.float32(1.101), np.float32(2101)}
    assert "commas between thousands in x" in found.provenance["understood"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x;kind\n" + "1,234;a\n2,500;b\n" * 6, "could be decimal or thousands"),
        ("x;kind\n" + "-;a\n1,234;b\n2,500;a\n" * 6, "holds '1,234', whose separators could be decimal or thousands"),
        ("x;kind\n" + "a;1,234\nb;2,500\n" * 6, "could be decimal or thousands"),
        ("x,kind\n" + "192.168.100.101,a\n192.168.101.100,b\n" * 6, "could be decimal or thousands"),
        ("x,kind\n" + "1600000000,a\n1600000000123,b\n" * 6, "in milliseconds and in seconds"),
        ("x,kind\n" + "0.5,a\n0.25,b\n50%,b\n" * 6, "'50%' among numbers"),
    ],
)
def test_cells_that_could_mean_two_things_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        load(f"csv:{tmp_path}/own.csv?label=kind")


@pytest.mark.parametrize(("unit", "times"), [("seconds", 1), ("milliseconds", 10**3), ("nanoseconds", 10**9)])
def test_times_since_1970_in_another_unit_than_the_training_rows_are_refused(
    tmp_path: Path, unit: str, times: int
) -> None:
    for name, factor in (("own", times), ("other", 10**6)):
        rows = "".join(f"{(1_600_000_000 + 977 * i) * factor},{'ab'[i % 2]}\n" for i in range(20))
        (tmp_path / f"{name}.csv").write_text(f"at,kind\n{rows}")
    with pytest.raises(DataError, match=f"microseconds, but in {unit} in the training rows"):
        load(f"csv:{tmp_path}/own.csv?label=kind&test={tmp_path}/other.csv")
    own, other = (pd.read_csv(tmp_path / f"{name}.csv")["at"].to_numpy() for name in ("own", "other"))
    x = [np.stack([at, at - at.min()], axis=1) for at in (own, np.append(own[:-1], other[-1:]), other)]
    for train, test in ((x[0], x[2]), (x[1], x[1])):
        y = np.arange(20) % 2
        np.savez(tmp_path / "own.npz", x_train=train, y_train=y, x_test=test, y_test=y)
        with pytest.raises(DataError, match="feature 0"):
            load(f"npz:{tmp_path}/own.npz")


DATES = [datetime.date(9999, 12, 31), datetime.date(1, 1, 1), datetime.date(1600, 2, 29), datetime.date(2021, 3, 1)]


@pytest.mark.parametrize("form", ["csv", "date32", "timestamp[s]", "timestamp[us]", "jsonl"])
def test_dates_of_any_year_are_days_since_1970(tmp_path: Path, form: str) -> None:
    from transferscope.data.column_encoding import fit_encoding
    from transferscope.data.frame import read_frame

    frame = pd.DataFrame({"end": DATES * 5, "kind": ["a", "b"] * 10})
    if form == "csv":
        frame.to_csv(path := tmp_path / "own.csv", index=False)
    elif form == "jsonl":
        path = tmp_path / "own.jsonl"
        path.write_text("".join(f'{{"end": "{day}", "kind": "a"}}\n' for day in frame["end"]))
    else:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        kind = pa.date32() if form == "date32" else pa.timestamp(form[10:-1])
        table = pa.table(
            {"end": pa.array(frame["end"].tolist(), pa.date32()).cast(kind), "kind": frame["kind"].tolist()}
        )
        parquet.write_table(table, path := tmp_path / "own.parquet")
    rows = read_frame(path).rows[["end"]]
    found = fit_encoding(rows, path).apply(rows, path)[:, 0]
    epoch = datetime.date(1970, 1, 1).toordinal()
    assert found[:4].tolist() == [day.toordinal() - epoch for day in DATES] == [2932896, -719162, -135081, 18687]


SCORES = "arm,labels,seed,accuracy\n" + "".join(
    f"{arm},{n},{seed},{100 - (60 - 20 * (arm == 'fine-tune')) * (n / 50) ** -0.4 + seed * 0.3:.2f}\n"
    for arm in ("scratch", "fine-tune")
    for n in (50, 100, 200, 400)
    for seed in range(3)
)
ERRORS = "n,seed,error\n" + "".join(
    f"{n},{seed},{0.1 + 5 * n**-0.5 + 0.001 * seed:.4f}\n" for n in (1000, 2000, 4000, 8000) for seed in range(3)
)


def _planned(path: Path) -> Any:
    return plan(path).table().to_dict("list")


def _scaled(path: Path) -> Any:
    from transferscope.analyses.scaling import Columns

    return scaling(path, columns=Columns(repeats=True)).table().to_dict("list")


def _known(path: Path) -> Any:
    return known_rows(path, LabelColumns())[0].drop(columns=["origin", "task"]).to_dict("list")


USES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "plan": (_planned, SCORES),
    "scaling": (_scaled, ERRORS),
    "proposals": (_known, SCORES),
}


@pytest.fixture(scope="module")
def plain_answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """What each use says of its measurements in plain commas."""
    answers = {}
    for use, (ask, text) in USES.items():
        (path := tmp_path_factory.mktemp("plain") / "plain.csv").write_text(text)
        answers[use] = pd.DataFrame(ask(path))
    return answers


def _with_summaries(text: str) -> str:
    first = text.splitlines()[-1].split(",")
    place = text.splitlines()[0].split(",").index("seed")
    return text + "".join(",".join([*first[:place], word, *first[place + 1 :]]) + "\n" for word in ("mean", "std"))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.replace(",", "\t").encode(),
        lambda text: text.replace(",", ";").replace(".", ",").encode(),
        lambda text: _with_summaries(text).encode(),
    ],
)
def test_measurements_are_the_same_however_their_table_is_written(
    tmp_path: Path, plain_answers: dict[str, pd.DataFrame], use: str, written: Callable[[str], bytes]
) -> None:
    (tmp_path / "own.csv").write_bytes(written(USES[use][1]))
    pd.testing.assert_frame_equal(pd.DataFrame(USES[use][0](tmp_path / "own.csv")), plain_answers[use])


@pytest.mark.parametrize("use", ["plan", "proposals"])
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("scratch,400", "Scratch,400"), "by capital letters"),
        (lambda text: text.replace("scratch,400", "scratch ,400"), "by spaces"),
        (lambda text: text.replace("arm,labels,seed,accuracy", "arm,labels,accuracy,Accuracy"), "Accuracy"),
    ],
)
def test_names_that_are_nearly_the_same_are_refused_in_measurements(
    tmp_path: Path, use: str, change: Callable[[str], str], said: str
) -> None:
    ask, text = USES[use]
    (tmp_path / "own.csv").write_text(change(text))
    with pytest.raises(TransferscopeError, match=said):
        ask(tmp_path / "own.csv")


def test_names_of_curves_that_are_nearly_the_same_are_refused(tmp_path: Path) -> None:
    from transferscope.analyses.scaling import Columns

    rows = [f"{model},{row}" for row, model in zip(ERRORS.splitlines()[1:], ["ResNet", "resnet"] * 6, strict=True)]
    (tmp_path / "own.csv").write_text("\n".join(["model,n,seed,error", *rows]) + "\n")
    with pytest.raises(DataError, match="by capital letters"):
        scaling(tmp_path / "own.csv", columns=Columns(by=("model",), repeats=True))


def test_rows_to_predict_keep_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("x,kind\n" + "".join(f"{i / 7},{'ab'[i % 2]}\n" for i in range(20)))
    form = input_form(name := f"csv:{tmp_path}/own.csv?label=kind", (), load(name))
    (tmp_path / "new.csv").write_text("x\tno\n0.5\t1\n0.4\tmean\n0.25\t2\n")
    found = read_unlabelled(f"csv:{tmp_path}/new.csv", form)
    assert (found.inputs[:, 0].tolist(), found.names) == ([0.5, 0.25], ("0", "2"))
    assert any("left out 1 row" in remark for remark in found.remarks)


def test_tasks_in_shares_and_in_percent_are_not_kept_as_one_unit(tmp_path: Path) -> None:
    rows = "".join(
        f"{task},{arm},{score}\n"
        for task, arm, score in [("a", "x", 0.9), ("a", "y", 0.8), ("b", "x", 91), ("b", "y", 83)]
    )
    (tmp_path / "own.csv").write_text(f"task,arm,accuracy\n{rows}")
    with pytest.raises(DataError, match="mixes units"):
        _known(tmp_path / "own.csv")
    mean = rows.replace("0.9", "90").replace("0.8", "80") + "average,x,90.5\naverage,y,81.5\n"
    (tmp_path / "own.csv").write_text(f"task,arm,accuracy\n{mean}")
    assert set(known_rows(tmp_path / "own.csv", LabelColumns())[0]["task"]) == {"a", "b"}
