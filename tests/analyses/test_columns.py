"""Every reader of results finds a column by each of its common names, whichever command reads the table."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import transferscope
from transferscope.analyses.columns import ROLES, cell_text, measured_rows, size_in, texts_of
from transferscope.analyses.plan.measurements import read_scores
from transferscope.analyses.results.runs import read_runs
from transferscope.analyses.scaling.measurements import found_columns
from transferscope.data.frame import Frame
from transferscope.errors import DataError, SettingsError
from transferscope.settings.questions import Columns, LabelColumns, RunColumns, ScalingQuestion


def compare(table: pd.DataFrame, role: str) -> object:
    return read_runs(Frame(table, ()), RunColumns(), ["scratch"], folder=Path()).columns.get(role)


def plan(table: pd.DataFrame, role: str, *, labelled: bool = True) -> object:
    return getattr(read_scores(table, LabelColumns(), labelled=labelled)[1], role)


def compare_of_tasks(table: pd.DataFrame, role: str) -> object:
    return plan(table, role, labelled=False)


def scaling(table: pd.DataFrame, role: str) -> object:
    columns = found_columns(table.assign(params=range(1, 9)), Columns())[1]
    return columns.finetune_size if role == "labels" else columns.error


READERS = {
    "arm": (compare, plan, compare_of_tasks),
    "seed": (compare, plan, compare_of_tasks),
    "labels": (compare, plan, compare_of_tasks, scaling),
    "task": (plan, compare_of_tasks),
    "stderr": (plan, compare_of_tasks),
    "score": (plan, compare_of_tasks, scaling),
}


@pytest.mark.parametrize(
    ("role", "reader"), [(role, reader) for role, readers in READERS.items() for reader in readers]
)
def test_every_reader_knows_every_common_name(role: str, reader: Callable[[pd.DataFrame, str], object]) -> None:
    usual = pd.DataFrame(
        [(arm, seed, n, "a", 0.01, 0.5 + n / 1000) for arm in ("scratch", "b") for seed in (0, 1) for n in (10, 20)],
        columns=["arm", "seed", "labels", "task", "stderr", "accuracy" if role != "score" else "score"],
    )
    for name in ROLES[role].names.split():
        assert reader(usual.rename(columns={role: name}), role) == name, name


@pytest.mark.parametrize("name", ["split", "part", "model"])
def test_parts_of_the_data_are_no_repeats_and_no_arms(name: str) -> None:
    """Scores on training and test data are answers to two questions."""
    table = pd.DataFrame(
        [(arm, n, part, 0.5 + n / 1000) for arm in ("scratch", "b") for n in (10, 20) for part in ("train", "Test")],
        columns=["arm", "labels", name, "accuracy"],
    )
    for ask in (partial(transferscope.compare, without=["scratch"]), transferscope.plan):
        with pytest.raises((DataError, SettingsError), match=f"differ in {name}"):
            ask(table)


def test_a_column_of_lists_is_read_past(tmp_path: Path) -> None:
    """Data frames and parquet files of runs hold a list of settings as it is."""
    runs = [(arm, n, s, 0.6 + n / 1000 + s / 100) for arm in ("scratch", "b") for n in (10, 20, 40) for s in (0, 1, 2)]
    table = pd.DataFrame(runs, columns=["arm", "labels", "seed", "accuracy"])
    table["tags"] = pd.Series([["a", "b"]] * len(table))
    table.to_parquet(tmp_path / "runs.parquet")
    rows = transferscope.compare(tmp_path / "runs.parquet", without=["scratch"]).next(2)  # type: ignore[attr-defined]
    assert [list(one) for one in rows["tags"]] == [["a", "b"]] * 2
    assert transferscope.plan(table).verdict
    assert transferscope.scaling(table[table["arm"] == "b"].rename(columns={"labels": "n"})).verdict


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64000", 64e3), ("1.4e12", 1.4e12), ("70M", 70e6), ("300k", 300e3), ("1.4B", 1.4e9), ("2 T", 2e12),
        ("10 billion", 1e10), ("2 trillion", 2e12), ("7b", 7e9), ("base", None), ("5 s", None), ("", None), ("M", None),
    ],
)  # fmt: skip
def test_a_size_is_read_as_people_write_it(text: str, size: float | None) -> None:
    assert size_in(text) == (None if size is None else pytest.approx(size, rel=1e-12))


@pytest.mark.parametrize(
    ("name", "cells", "bare", "sizes"),
    [
        ("params (M)", [70, 1400], "params", [70e6, 1.4e9]),
        ("params [in millions]", [70, 1400], "params", [70e6, 1.4e9]),
        ("params_B", [0.07, 1.4], "params", [70e6, 1.4e9]),
        ("Training tokens (B)", [2, 300], "Training tokens", [2e9, 3e11]),
        ("flops (1e18)", [3, 100], "flops", [3e18, 1e20]),
        ("N_params", [70e6, 1.4e9], "N_params", [70e6, 1.4e9]),
        ("params", ["70M", "1.4B"], "params", [70e6, 1.4e9]),
        ("params (M)", ["70M", "1.4B"], "params", [70e6, 1.4e9]),
        ("n_labels", ["1k", "500"], "n_labels", [1000, 500]),
        ("accuracy", ["52.1 ± 1.0", "-3e-1 +/- .2"], "accuracy", [52.1, -0.3]),
        ("model", ["70M", "1.4B"], "model", ["70M", "1.4B"]),
        ("steps_k", [1, 2], "steps_k", [1, 2]),
        ("params", ["70M", "large"], "params", ["70M", "large"]),
        ("params (M)", ["70M", "160"], "params", ["70M", "160"]),
    ],
)
def test_units_are_read_where_they_are_certain(name: str, cells: list[object], bare: str, sizes: list[object]) -> None:
    read = measured_rows(pd.DataFrame({"task": ["a", "b"], name: cells, "loss": [3.0, 2.0]}))
    assert list(read.rows) == ["task", bare, "loss"]
    expected = sizes if isinstance(sizes[0], str) else pytest.approx(sizes, rel=1e-12)
    assert read.rows[bare].tolist() == expected
    assert len(read.notes) == (read.rows[bare].tolist() != cells)


def test_a_unit_that_its_cells_contradict_is_refused() -> None:
    with pytest.raises(DataError, match=r"params \(M\) holds 1.6e\+08"):
        measured_rows(pd.DataFrame({"params (M)": [70e6, 160e6], "loss": [3.0, 2.0]}))


def test_a_column_is_read_in_its_unit_beside_others_of_the_name() -> None:
    """Where the name without its unit is taken, the column stays as it is; names of curves and columns of runs too."""
    both = measured_rows(pd.DataFrame({"params (M)": [70, 160], "params": [70e6, 160e6]}))
    assert both.rows.to_dict("list") == {"params (M)": [70, 160], "params": [70e6, 160e6]}
    sizes = pd.DataFrame({"model_size": ["70M", "160M"], "extra": ["1k", "2k"]})
    assert measured_rows(sizes, names=["model_size"]).rows.to_dict("list") == sizes.to_dict("list")
    assert measured_rows(sizes, sizes=["extra"]).rows["extra"].tolist() == [1000, 2000]
    runs = measured_rows(pd.DataFrame({"params (M)": [70], "labels": ["1k"]}), of_runs=True)
    assert runs.rows.to_dict("list") == {"params (M)": [70], "labels": [1000]}


@pytest.mark.long
def test_every_reader_takes_sizes_with_units_and_scores_with_errors() -> None:
    """The answers are those of the plain table."""
    n, d = np.meshgrid([70e6, 160e6, 410e6, 1.4e9], [2e9, 8e9, 30e9, 120e9])
    loss = 1.75 + 420 * n.ravel() ** -0.35 + 500 * d.ravel() ** -0.29
    plain = pd.DataFrame({"params": n.ravel(), "tokens": d.ravel(), "loss": loss})
    named = pd.DataFrame({"params (M)": n.ravel() / 1e6, "tokens_B": d.ravel() / 1e9, "loss": loss})
    question = ScalingQuestion(at=((1e10, 2e11),))
    given = Columns(error="loss", pretrain_size="params (M)", finetune_size="tokens_B")
    answers = [transferscope.scaling(one, question).table() for one in (plain, named)]
    answers.append(transferscope.scaling(named, question, columns=given).table())
    for one in answers[1:]:
        pd.testing.assert_frame_equal(one, answers[0], check_exact=False, rtol=1e-6)
    runs = pd.DataFrame(
        [(arm, n, s, 0.6 + n / 4000 + s / 100) for arm in ("scratch", "b") for n in (500, 1000) for s in (0, 1, 2)],
        columns=["arm", "labels", "seed", "accuracy"],
    )
    written = runs.assign(
        labels=runs["labels"].map({500: "500", 1000: "1k"}), accuracy=runs["accuracy"].map("{} ± 1".format)
    )
    pd.testing.assert_frame_equal(transferscope.plan(written).table(), transferscope.plan(runs).table())
    outcomes = [transferscope.compare(one, without=["scratch"]).verdict.outcomes for one in (written, runs)]
    assert outcomes[0] == outcomes[1]


def test_wide_sizes_are_called_what_the_table_has() -> None:
    table = pd.DataFrame(
        {"model": ["a", "b", "c"], "100": [0.5, 0.7, 0.74], "1k": [0.7, 0.8, 0.85], "3k": [0.8, 0.9, 0.92]}
    )
    with pytest.raises(SettingsError, match="3 rows at column = 100 differ in model"):
        transferscope.scaling(table, columns=Columns(error="accuracy"))


def test_the_text_of_cells_does_not_depend_on_how_often_they_are_there() -> None:
    for cells in ([1, True, 1.0, "1", None], [3.0, 2.5, np.nan, 3.0], ["a ", " a", None, "a "], [[1], [1], {"b": 2}]):
        column = pd.Series(cells, index=range(5, 5 + len(cells)))
        texts = texts_of(column)
        assert texts.tolist() == [cell_text(cell) for cell in column]
        assert list(texts.index) == list(column.index)


def test_of_columns_of_seeds_the_one_that_varies_is_taken() -> None:
    runs = pd.DataFrame(
        [
            (arm, n, s, 0.6 + n / 4000 + s / 100)
            for arm in ("scratch", "b")
            for n in (250, 500, 1000)
            for s in (0, 1, 2)
        ],
        columns=["arm", "labels", "random_seed", "accuracy"],
    )
    named = transferscope.plan(runs.rename(columns={"random_seed": "seed"})).table()
    for table in (runs, runs.assign(seed=0), runs.assign(seed=0)[["seed", *runs]]):
        pd.testing.assert_frame_equal(transferscope.plan(table).table(), named)


def test_a_number_of_seeds_is_no_seed() -> None:
    """Tables of means have it, as those that `report --table csv` writes; two of them are not the seeds 3 and 4."""
    means = pd.DataFrame(
        [(arm, n, 3 + (n > 250), 0.6 + n / 4000) for arm in ("scratch", "b") for n in (250, 500)],
        columns=["arm", "labels", "n_seeds", "accuracy"],
    )
    for table, is_noted in ((means, True), (means.assign(seed=0), False)):
        rows, columns, notes = read_scores(table, LabelColumns())
        assert (columns.seed, len(rows)) == (None if is_noted else "seed", 4)
        assert any("n_seeds" in note for note in notes) == is_noted
        assert read_runs(Frame(table, ()), RunColumns(), ["scratch"], folder=Path()).columns.get("seed") == columns.seed
