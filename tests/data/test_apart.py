"""Groups and times keep parts apart, beside scikit-learn's own splitters on drawn data."""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image
from sklearn.model_selection import GroupKFold, GroupShuffleSplit

from data.test_hf_dataset import save
from transferscope.data import Dataset, LabelledSet, load
from transferscope.data.apart import read_apart_by
from transferscope.data.load import seen_from
from transferscope.data.memory import InMemory, write_in_memory
from transferscope.data.splits import few_shot_rows, folds, rows_after, rows_of_parts, rows_split_off
from transferscope.errors import DataError


def drawn(seed: int, *, kind: str = "classification", n_groups: int = 24) -> LabelledSet:
    """Examples of groups of 1 to 12; most labels follow the group, as a patient's do."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 13, n_groups)
    groups = rng.permutation(np.repeat(rng.permutation(100)[:n_groups], sizes)).astype(np.int64)
    inputs = rng.normal(size=(len(groups), 3)).astype(np.float32)
    if kind == "regression":
        return LabelledSet(inputs, rng.normal(size=(len(groups), 1)).astype(np.float32), groups=groups)
    own = rng.integers(0, 3, 100)
    labels = np.where(rng.random(len(groups)) < 0.7, own[groups], rng.integers(0, 3, len(groups)))
    return LabelledSet(inputs, labels.astype(np.int64), ("a", "b", "c"), groups=groups)


def shared(examples: LabelledSet, one: np.ndarray, other: np.ndarray) -> int:
    """How many examples of a part are of groups that the other part has, too."""
    assert examples.groups is not None
    return int(np.isin(examples.groups[one], examples.groups[other]).sum())


@pytest.mark.parametrize("kind", ["classification", "regression"])
@pytest.mark.parametrize("seed", range(20))
def test_no_group_is_in_two_parts_of_a_split_or_of_a_fold(seed: int, kind: str) -> None:
    """As with scikit-learn's splitters: leak 0, every example validated once, parts of as near a size."""
    examples = drawn(seed, kind=kind)
    rows = np.arange(len(examples))
    train, test = rows_split_off(examples, 0.2, seed=seed)
    assert shared(examples, train, test) == 0
    np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), rows)
    theirs = next(GroupShuffleSplit(1, test_size=0.2, random_state=seed).split(rows, groups=examples.groups))
    assert shared(examples, *theirs) == 0
    assert abs(len(test) / len(rows) - 0.2) <= max(0.08, abs(len(theirs[1]) / len(rows) - 0.2))
    dealt = folds(examples, 4, seed=seed)
    assert all(shared(examples, fold.fit, fold.validate) == 0 for fold in dealt)
    assert len(dealt) == 4
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.validate for fold in dealt])), rows)
    of_theirs = [len(left) for _, left in GroupKFold(4).split(rows, groups=examples.groups)]
    sizes = [len(fold.validate) for fold in dealt]
    assert max(sizes) - min(sizes) <= max(of_theirs) - min(of_theirs) + 12  # within a group of the greedy balance
    without = LabelledSet(examples.inputs, examples.labels, examples.classes)
    assert shared(examples, *rows_split_off(without, 0.2, seed=seed)) > 0  # it is the groups that do it


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_drawn_group_by_group_and_nested(seed: int) -> None:
    examples = drawn(seed)
    groups = examples.groups
    assert groups is not None
    whole = few_shot_rows(examples, len(examples), seed=seed)
    np.testing.assert_array_equal(np.sort(whole), np.arange(len(examples)))
    for n in (3, 10, 30, 60):
        np.testing.assert_array_equal(few_shot_rows(examples, n, seed=seed), whole[:n])
        assert set(examples.labels[whole[:n]]) == {0, 1, 2}
    order = groups[whole]
    last_of_first = max(int(np.flatnonzero(order == one).max()) for one in dict.fromkeys(order[:3]))
    after = order[last_of_first + 1 :]
    changes = int((np.diff(after) != 0).sum())
    assert changes <= len(set(after)) + 4  # one group after another, beyond the first few
    others = few_shot_rows(examples, 30, seed=seed + 100)
    assert set(groups[others]) != set(groups[whole[:30]])


def test_a_class_of_one_group_is_in_every_part_that_is_fitted_on() -> None:
    """It cannot be held out, and a split that would lack it in training or test is refused."""
    groups = np.repeat(np.arange(6), 10).astype(np.int64)
    labels = np.tile([0, 1], 30).astype(np.int64)
    labels[:10] = 2
    examples = LabelledSet(np.zeros((60, 1), dtype=np.float32), labels, ("a", "b", "c"), groups=groups)
    dealt = folds(examples, 3, seed=0)
    assert dealt
    assert all(0 in set(groups[fold.fit]) for fold in dealt)
    of_one_group = replace(examples, groups=np.zeros(60, dtype=np.int64))
    assert folds(of_one_group, 3, seed=0) == ()
    assert len(folds(drawn(0), 2, seed=0)) == 2  # the fewest
    with pytest.raises(DataError, match="1 group"):
        rows_split_off(of_one_group, 0.2, seed=0)


def table(seed: int = 0, n: int = 240) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, 40, n)
    return pd.DataFrame(
        {
            "age": rng.normal(50, 9, n).round(1),
            "patient": [f"p{one}" for one in patient],
            "seen": pd.date_range("2020-01-01", periods=n, freq="D").strftime("%Y-%m-%d")[rng.permutation(n)],
            "ill": np.where(rng.random(n) < 0.5, "yes", "no"),
            "row": np.arange(n) * 0.37 + 0.5,  # tells rows apart again
        }
    )


def of_csv(frame: pd.DataFrame, folder: Path) -> str:
    frame.to_csv(folder / "t.csv", index=False)
    return f"csv:{folder / 't.csv'}?label=ill&drop=seen"


def of_text(frame: pd.DataFrame, folder: Path) -> str:
    from transformers import BertTokenizerFast

    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"0123456789", "."]))
    BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder / "tokens")
    frame.assign(text=frame["row"].map(lambda one: " ".join(f"{one:.2f}"))).to_csv(folder / "t.csv", index=False)
    return f"text:{folder / 't.csv'}?text=text&label=ill&tokenizer={folder / 'tokens'}"


def of_images(frame: pd.DataFrame, folder: Path) -> str:
    (folder / "images").mkdir()
    for row in range(len(frame)):
        (folder / "images" / f"{row}.png").write_bytes(png(row))
    frame.assign(file=[f"{row}.png" for row in range(len(frame))]).to_csv(folder / "t.csv", index=False)
    return f"folder:{folder / 'images'}?labels={folder / 't.csv'}&label=ill"


def of_npz(frame: pd.DataFrame, folder: Path) -> str:
    times = pd.to_datetime(frame["seen"]).astype("int64").to_numpy() / 8.64e13
    np.savez(
        folder / "t.npz",
        x=frame[["age", "row"]].to_numpy(),
        y=frame["ill"].to_numpy(dtype=np.str_),
        patient=frame["patient"].to_numpy(dtype=np.str_),
        seen=times,
    )
    return f"npz:{folder / 't.npz'}?kind=classification"


def of_datasets(frame: pd.DataFrame, folder: Path) -> str:
    names = ("ill", "patient", "seen")
    content = [{"bytes": png(row), "path": None} for row in range(len(frame))]
    features = {"image": {"_type": "Image"}, **{name: {"dtype": "string", "_type": "Value"} for name in names}}
    held = pa.table({"image": content, **{name: frame[name].tolist() for name in names}})
    return f"hf-dataset:{save(folder / 'saved', features, held)}?label=ill"


def png(grey: int) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.full((2, 2), grey, dtype=np.uint8)).save(stream, "PNG")
    return stream.getvalue()


READERS: dict[str, Callable[[pd.DataFrame, Path], str]] = {
    "csv": of_csv,
    "text": of_text,
    "images": of_images,
    "npz": of_npz,
    "datasets": of_datasets,
}


def rows_of(data: Dataset, frame: pd.DataFrame, reader: str) -> tuple[list[int], list[int]]:
    """Which rows of the frame each part has, by what tells rows apart in its inputs."""

    def rows(part: LabelledSet) -> list[int]:
        if reader in ("images", "datasets"):
            return [int(one) for one in part.inputs[:, 0, 0, 0]]
        if reader == "text":
            vocabulary = part.vocabulary or ()
            texts = ["".join(vocabulary[i] for i in ids if i > 4).replace("#", "") for ids in part.inputs[:, 0]]
            return [round((float(text) - 0.5) / 0.37) for text in texts]
        return [round((float(one) - 0.5) / 0.37) for one in part.inputs[:, -1]]

    return rows(data.train), rows(data.test)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_keeps_groups_and_times_apart(reader: str, tmp_path: Path) -> None:
    frame = table()
    spec = READERS[reader](frame, tmp_path)
    train, test = rows_of(load(spec, seed=3), frame, reader)
    patients, seen = frame["patient"].to_numpy(), pd.to_datetime(frame["seen"]).to_numpy()
    assert set(patients[train]) & set(patients[test])
    data = load(f"{spec}&group=patient", seed=3)
    train, test = rows_of(data, frame, reader)
    assert sorted(train + test) == list(range(240))
    assert not set(patients[train]) & set(patients[test])
    assert data.train.groups is not None
    assert data.test.groups is not None
    held = dict.fromkeys(zip(patients[train], data.train.groups.tolist(), strict=True))
    assert len(held) == len(set(patients[train]))  # one number for each patient
    if reader == "csv":
        spec = spec.replace("drop=seen", "drop=patient")
    data = load(f"{spec}&time=seen", seed=3)
    train, test = rows_of(data, frame, reader)
    assert seen[train].max() < seen[test].min()
    assert len(test) == 48
    data = load(f"{spec.replace('&drop=patient', '')}&time=seen&group=patient", seed=3)
    of_both = rows_of(data, frame, reader)
    check_later_and_of_other_groups(*of_both, patients, seen, set(train))
    assert data.train.groups is not None
    assert f"{240 - sum(map(len, of_both))} of 240 rows are left out" in data.provenance["understood"]
    assert len(of_both[1]) / sum(map(len, of_both)) == pytest.approx(0.2, abs=0.03)


def check_later_and_of_other_groups(
    train: list[int], test: list[int], groups: np.ndarray, times: np.ndarray, early: set[int]
) -> None:
    """A part has all rows of its groups on its side of the time, and no others."""
    assert train
    assert test
    assert times[train].max() < times[test].min()
    of_train, of_test = set(groups[train]), set(groups[test])
    assert not of_train & of_test
    rows = range(len(groups))
    assert sorted(train) == [row for row in rows if groups[row] in of_train and row in early]
    assert sorted(test) == [row for row in rows if groups[row] in of_test and row not in early]
    for row in rows:  # a group with rows on one side alone loses none
        sides = {other in early for other in rows if groups[other] == groups[row]}
        assert len(sides) == 2 or row in {*train, *test}


def rows_by(groups: Iterable[object], times: Sequence[float], *, seed: int = 0) -> tuple[list[int], list[int], str]:
    """Rows of the training and the test part of data that are split by group and time, and what is said of them."""
    apart = read_apart_by(pd.DataFrame({"g": list(groups), "t": times}), "g", "t", "rows")
    labels = np.zeros(len(times))
    train, test, note = rows_of_parts(
        labels, 0.2, name="rows", kind="regression", label_names=None, seed=seed, apart=apart
    )
    return train.tolist(), test.tolist(), note


def test_rows_by_group_and_time_are_those_worked_out_by_hand() -> None:
    """Ten rows, of which the last two are the latest fifth."""
    times = list(range(10))
    assert rows_by("aaabbabbcc", times) == (list(range(8)), [8, 9], "")  # new patients alone: nothing is lost
    # b has 4 early rows and a late one, c a late one alone
    train, test, note = rows_by("aabbabbacb", times)
    assert (train, test) == ([0, 1, 2, 3, 4, 5, 6, 7], [8])  # c alone: 1 of 9 is nearer to a fifth than 2 of 6
    assert "1 of 10 rows are left out" in note
    assert "0 early rows of test groups and 1 late rows of training groups" in note
    train, test, note = rows_by("abbbabbbab", times)  # both on both sides: a has 1 late row for 2 early ones, b for 6
    assert (train, test) == ([1, 2, 3, 5, 6, 7], [8])
    assert "3 of 10 rows are left out" in note
    assert "2 early rows of test groups and 1 late rows of training groups" in note
    with pytest.raises(DataError, match="all 10 rows are of 1 group by 'g'"):
        rows_by("aaaaaaaaaa", times)


@pytest.mark.parametrize("seed", range(20))
def test_later_parts_of_other_groups_on_drawn_data(seed: int) -> None:
    """Groups of a tenth of the time, and of all of it; the parts are as near to a fifth as any further group."""
    rng = np.random.default_rng(seed)
    n = 300
    begin = rng.uniform(0, 1, 60)
    groups = rng.integers(0, 60, n)
    width = 0.1 if seed % 2 else 1.0
    times = (begin[groups] + width * rng.uniform(0, 1, n)).round(2)
    train, test, note = rows_by(groups, times.tolist(), seed=seed)
    early, _ = rows_after(times, 0.2, name="rows")
    check_later_and_of_other_groups(train, test, groups, times, set(early.tolist()))
    left_out = n - len(train) - len(test)
    assert f"{left_out} of {n} rows" in note
    if width < 1:
        assert left_out < 0.2 * n  # most groups are on one side
    assert len(test) / (len(train) + len(test)) == pytest.approx(0.2, abs=0.02)


def test_columns_that_keep_rows_apart_are_no_features(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    spec = f"csv:{tmp_path / 't.csv'}?label=ill"
    plain, grouped, timed = load(spec), load(f"{spec}&group=patient"), load(f"{spec}&time=seen")
    names = [set(part.provenance["columns"].split('"')) for part in (plain, grouped, timed)]
    assert "patient" in names[0]
    assert "patient" not in names[1]
    assert "seen" not in names[2]
    assert "group=patient" in plain.provenance["understood"]  # it looks like one
    assert "group=" not in grouped.provenance["understood"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda frame: frame.assign(patient=None), "is empty in 240 of 240"),
        (lambda frame: frame.assign(patient="p1"), "1 group cannot be split"),
    ],
)
def test_groups_that_cannot_be_kept_apart_are_refused(
    change: Callable[[pd.DataFrame], pd.DataFrame], said: str, tmp_path: Path
) -> None:
    change(table()).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match=said):
        load(f"csv:{tmp_path / 't.csv'}?label=ill&group=patient")


def test_a_test_part_of_ones_own_is_checked(tmp_path: Path) -> None:
    def write_parts(frame: pd.DataFrame) -> None:
        frame[:200].to_csv(tmp_path / "a.csv", index=False)
        frame[200:].to_csv(tmp_path / "b.csv", index=False)

    write_parts(frame := table())
    spec = f"csv:{tmp_path / 'a.csv'}?label=ill&test={tmp_path / 'b.csv'}"
    common = set(frame["patient"][:200]) & set(frame["patient"][200:])
    with pytest.raises(DataError, match=f"{len(common)} groups of 'patient' in both"):
        load(f"{spec}&group=patient")
    with pytest.raises(DataError, match="are not later"):
        load(f"{spec}&time=seen")
    frame.assign(seen="2024-05-01").to_csv(tmp_path / "one.csv", index=False)
    with pytest.raises(DataError, match=f"the time is the same in all {len(frame)} rows"):
        load(f"csv:{tmp_path / 'one.csv'}?label=ill&time=seen")
    write_parts(frame.sort_values("seen").assign(patient=["p1"] * 200 + ["p2"] * 40))
    assert len(load(f"{spec}&group=patient&time=seen").test) == 40
    days = pd.DataFrame({"x": np.arange(80) % 7, "day": np.arange(80) // 4, "y": np.arange(80) % 2})
    days.to_csv(tmp_path / "days.csv", index=False)
    by_day = load(f"csv:{tmp_path}/days.csv?label=y&group=day&time=day")  # the rows of a day are one group
    assert (len(by_day.train), len(by_day.test)) == (64, 16)


@pytest.mark.parametrize("form", ["arrays", "frame", "pair", "texts"])
def test_data_in_memory_take_groups_as_scikit_learn_does(form: str, tmp_path: Path) -> None:
    frame = table()
    y, groups = frame["ill"].to_numpy(dtype=np.str_), frame["patient"].to_numpy(dtype=np.str_)
    data, group = {
        "arrays": ((frame[["age", "row"]].to_numpy(), y), groups),
        "frame": (frame.drop(columns="seen"), "patient"),
        "pair": ((frame[["age", "row"]], y), groups),
        "texts": ((frame["row"].map(str).tolist(), y), groups),
    }[form]
    label = "ill" if form == "frame" else None
    name = write_in_memory(data, tmp_path, "target", InMemory(label=label, group=group))
    assert f"group={'patient' if form == 'frame' else 'group'}" in name
    of_source = write_in_memory(data, tmp_path, "source", InMemory(label=label, group=group))
    assert "group=" not in of_source
    assert ("&drop=patient" in of_source) == (form == "frame")  # a column of both tables, and a feature of neither
    if form == "texts":
        return
    train, test = rows_of(load(seen_from(name, tmp_path)), frame, "csv")
    assert len(train) + len(test) == 240
    assert not set(groups[train]) & set(groups[test])
    seen = "seen" if form == "frame" else pd.to_datetime(frame["seen"]).to_numpy()
    whole = frame if form == "frame" else data
    name = write_in_memory(whole, tmp_path, "target", InMemory(label=label, group=group, time=seen))
    train, test = rows_of(load(seen_from(name, tmp_path)), frame, "csv")
    days = pd.to_datetime(frame["seen"]).to_numpy()
    assert days[train].max() < days[test].min()
    assert not set(groups[train]) & set(groups[test])
    with pytest.raises(DataError, match="one value per input"):
        write_in_memory((frame[["age"]].to_numpy(), y), tmp_path, "target", InMemory(group=groups[:-1]))
