"""Tables of scores: reading them, and finding the role of each column by its given or common name."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from transferscope.data.cells import GAPS, NUMBER, as_objects, is_text, typed, without_summaries
from transferscope.data.frame import Frame, place_of, places_of, read_frame
from transferscope.data.split_names import ALL_NAMES
from transferscope.errors import DataError, SettingsError, missing_file, unknown_name
from transferscope.settings.questions import Better
from transferscope.wording import few, listed, size_words

_LOSSES = "loss losses nll perplexity ppl mse rmse mae risk bpb bpc cost deviance xent crossentropy fid"
LOSSES = frozenset(_LOSSES.split())
"""Words in the names of losses: lower is better, without an upper bound."""

FALLING = LOSSES | {"error", "errors", "err", "wer", "cer", "eer"}
_RISING = (
    "accuracy accuracies acc top1 top5 auc auroc auprc roc f1 fscore score precision recall map miou iou dice bleu "
    "rouge meteor em match r2 reward success pass quality correct performance kappa mcc psnr ssim"
)
RISING = frozenset(_RISING.split())
"""Words in the name of a column that say which values are better."""

_REPEATS = (
    "seed seeds run runs rep reps repeat repeats repetition repetitions replicate replicates replica trial trials fold "
    "folds"
)
REPEATS = frozenset(_REPEATS.split())
"""Words in the names of columns that number repeats of a measurement."""

COUNTS = frozenset(("n", "num", "number", "count", "total"))
"""Words in the names of counts, as in n_seeds."""

ACCURACIES = frozenset(("accuracy", "accuracies", "acc", "top1", "top5"))

R_SQUARED = re.compile(r"(?:^|[^a-z0-9])(?:r2|r_squared|rsquared|r\^2|r²)(?:$|[^a-z0-9])")
"""Names of the coefficient of determination: best value 1, no lower bound."""

MEASURE_COLUMNS = frozenset(("metric", "measure", "metric_name", "measure_name"))
"""Columns that name the metric of a row."""

_NO_NUMBER = frozenset(one for one in GAPS if one.strip("-+").lower() in ("nan", "1.#ind", "1.#qnan"))

_REVERSING = frozenset(("neg", "negative", "negated", "minus", "drop", "gap", "reduction", "improvement"))
"""Words that reverse the direction of a metric: higher neg_log_loss of scikit-learn is better."""


@dataclass(frozen=True, slots=True)
class Role:
    """The role of a column.

    Attributes:
        what: Description, as in "numbers of labels".
        names: Common names, the usual one first, separated by spaces.
        alone: Whether several such columns are ambiguous, as for metrics.
        if_needed: Ambiguous names, accepted only if a table must have such a column.
    """

    what: str
    names: str
    alone: bool = False
    if_needed: str = ""

    def names_in(self, *, is_needed: bool) -> list[str]:
        """Return its common names, the usual first."""
        return f"{self.names} {self.if_needed * is_needed}".split()


PARAMETERS = "params parameters n_params num_params n_parameters num_parameters model_size non_embedding_params"
"""Names of a size of pretraining that is the number of parameters of a model."""

_TOKENS = "tokens n_tokens num_tokens training_tokens train_tokens"

_LABELS = (
    "labels n_labels num_labels n_target n_train num_train train_size shots labelled labeled n_labelled n_labeled "
    "label_count"
)

ROLES = {
    "arm": Role(
        "arms",
        "arm method approach model init initialisation initialization start variant model_name model_name_or_path "
        "backbone algorithm framework",
    ),
    "source": Role("sources", "source pretrained"),
    "seed": Role("seeds", f"{_REPEATS} split"),
    "task": Role("tasks", "task dataset data_set benchmark target"),
    "labels": Role("numbers of labels", _LABELS, if_needed="n_examples examples n_samples samples size sizes n"),
    "pretrain_size": Role(
        "size n",
        f"n pretrain_size n_pretrain n_source {PARAMETERS}",
        if_needed=f"{_TOKENS} compute flops train_flops training_flops train_size data_size dataset_size n_samples "
        "num_samples samples n_examples",
    ),
    "finetune_size": Role(
        "size s",
        f"s d finetune_size n_finetune {_TOKENS} data_size dataset_size {_LABELS}",
    ),
    "score": Role(
        "scores or errors",
        "score accuracy acc test_accuracy test_acc val_accuracy val_acc top1 r2 f1 macro_f1 auc auroc error err "
        "test_error error_rate target_error mse rmse mae loss test_loss val_loss valid_loss validation_loss eval_loss "
        "final_loss cross_entropy perplexity ppl value metric_value",
        alone=True,
    ),
    "stderr": Role("standard errors", "stderr std_error standard_error se sem uncertainty"),
    "budget": Role(
        "budgets of compute", "budget compute compute_budget flops train_flops training_flops total_flops flop c"
    ),
    "cost": Role("seconds of a run", "seconds cost runtime train_runtime train_time train_seconds training_time"),
    "state": Role("states of runs", "state status"),
    "predictions": Role("files of predictions", "predictions prediction_file predictions_file"),
}
"""Roles of columns of tables of results; each reader uses some of them."""


def words_in(name: str) -> set[str]:
    """Return the words in the name of a column, in lower case: "valTop-1 acc" is val, top1 and acc."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    spelled = re.sub(r"top.(?=[0-9])", "top", f"{apart} {name}".lower())
    return set(re.findall(r"[a-z]+[0-9]?", spelled))


def plain_name(name: str, kept: str = "") -> str:
    """Return the name of a column in lower case, with _ between words; `kept` are further characters."""
    return re.sub(rf"[^a-z0-9{kept}]+", "_", name.lower()).strip("_")


def cell_text(cell: object) -> str:
    """Return a cell as text: 3.0 is "3", a missing value is ""."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and np.isnan(cell)):
        return ""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell).strip()


def texts_of(column: pd.Series) -> pd.Series:
    """Return `cell_text` of each cell, made once for each different one."""
    if column.dtype == object and not is_text(column):  # 1 and True are equal, and lists have no hash
        return column.map(cell_text).astype("str")
    places, distinct = pd.factorize(column)
    made = pd.array([*map(cell_text, distinct), ""], dtype="str")
    return pd.Series(made[places], column.index, name=column.name)


_TIMES = {
    **dict.fromkeys(("k", "thousand"), 1e3),
    **dict.fromkeys(("m", "mn", "million"), 1e6),
    **dict.fromkeys(("b", "bn", "g", "billion"), 1e9),
    **dict.fromkeys(("t", "tn", "trillion"), 1e12),
}
"""Signs and words of units in sizes."""
_UNIT = rf"(?P<unit>{'|'.join(_TIMES)})"
_SIZE = re.compile(rf"(?P<number>{NUMBER})\s*(?:{_UNIT})?", re.IGNORECASE)
_WITH_ERROR = re.compile(rf"(?P<number>{NUMBER})\s*(?:±|\+/-|\+-|\\pm|\$\\pm\$)\s*{NUMBER}")
_IN_BRACKETS = re.compile(rf"(?P<name>.+?)\s*[(\[]\s*(?:in )?(?:{_UNIT}s?|1e(?P<power>\d+))\s*[)\]]", re.IGNORECASE)
_IN_NAME = re.compile(rf"(?P<name>{'|'.join(f'{PARAMETERS} {_TOKENS}'.split())})_(?:in_)?{_UNIT}s?")
_LABELLED, _SIZED = (
    frozenset(name for role in roles for name in ROLES[role].names_in(is_needed=True))
    for roles in (("labels",), ("labels", "pretrain_size", "finetune_size", "budget"))
)
_MOST_COUNTED = 1e14
"""More parameters or tokens than any model has: a unit in a column name that gives more is wrong."""


def size_in(text: str) -> float | None:
    """Parse a size, as in "64000", "1.4e12", "70M" or "10 billion"; None for other text."""
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else float(match["number"]) * _TIMES.get((match["unit"] or "").lower(), 1.0)


_COUNTED = "shots?|labels?|labelled examples?|examples?|samples?"
_OF_SIZE = re.compile(
    rf"(?:(?:k|n|{'|'.join(_LABELS.split())})\s*=\s*(?P<after>.+))|(?P<before>{NUMBER})[\s_-]*(?:{_COUNTED})",
    re.IGNORECASE,
)


def size_of_column(name: str) -> float | None:
    """Parse the size in the name of a column of scores, as in "1_000", "5-shot", "k = 5" or "100 labels"."""
    match = _OF_SIZE.fullmatch(name.strip())
    return size_in((name if match is None else match["after"] or match["before"]).replace("_", ""))


def _unit_of(name: str) -> tuple[str, float]:
    """Split the name of a column of sizes into name and unit: "params (M)" or "params_M" are params in 1e6."""
    match = _IN_BRACKETS.fullmatch(name.strip()) or _IN_NAME.fullmatch(plain_name(name))
    if match is None or plain_name(match["name"]) not in _SIZED:
        return name, 1.0
    power = match.groupdict().get("power")
    return match["name"], 10.0 ** int(power) if power else _TIMES[match["unit"].lower()]


def _read_as_written(
    columns: Mapping[str, pd.Series], sizes: Collection[str | None], names: Collection[str | None], *, of_runs: bool
) -> tuple[dict[str, pd.Series], list[str]]:
    """Convert sizes with a unit, in cells or names, and scores with an error behind ± to numbers.

    Those called `names` stay, and of runs all names of columns, since rows of theirs are written back.

    Returns:
        The columns and what was read, in words.

    Raises:
        DataError: The unit in a column's name contradicts its cells.
    """
    read: dict[str, pd.Series] = {}
    notes: list[str] = []
    usual = _LABELLED if of_runs else _SIZED
    for name, column in columns.items():
        bare, times = (name, 1.0) if of_runs or name in names else _unit_of(name)
        if bare in read or (bare != name and bare in columns):
            bare, times = name, 1.0
        read[bare] = column
        if pd.api.types.is_numeric_dtype(column) and times != 1:
            largest = float(column.max()) * times
            if largest > _MOST_COUNTED and plain_name(bare) in f"{PARAMETERS} {_TOKENS}".split():
                raise DataError(
                    f"column {name} holds {column.max():,.6g}, or {largest:.3g} in the unit of its name; write plain "
                    f"numbers in a column {bare}, or numbers in that unit"
                )
            read[bare] = column * times
            notes.append(f"{name} was read as {bare} in units of {size_words(times)}")
        texts = column.dropna()
        if name in names or texts.empty or not is_text(column):
            continue
        if all(_WITH_ERROR.fullmatch(one.strip()) for one in texts):
            values = [float(re.split(r"[±+$\\]", one.strip().lstrip("+"))[0]) for one in texts]
            instead = (
                "; write it in a column std or stderr, with one n_seeds"
                if of_runs
                else "; write standard errors in a column stderr"
            )
            notes.append(
                f"{name} was read without what follows ±, which may be a standard deviation, a standard error or a "
                f"confidence interval{instead}"
            )
        elif name in sizes or plain_name(bare) in usual:
            values = [size for one in texts if (size := size_in(one)) is not None]
            if len(values) < len(texts) or (times != 1 and any(one.strip()[-1:].isdecimal() for one in texts)):
                continue
            united = next((one for one in texts if one.strip()[-1:].isalpha()), texts.iloc[0])
            notes.append(f"{name} was read as numbers: {united} is {size_words(size_in(united) or 0.0)}")
        else:
            continue
        read[bare] = pd.Series(values, texts.index, np.float64).reindex(column.index)
    return read, notes


def measured_rows(
    table: pd.DataFrame | Frame | str | Path,
    naming: Collection[str] = (),
    *,
    sizes: Collection[str | None] = (),
    names: Collection[str | None] = (),
    of_runs: bool = False,
) -> Frame:
    """Return a table with one row per measurement: a data frame, or CSV, tab-separated text, JSON, JSON lines or
    parquet.

    Rows that summarise others are left out.

    Args:
        naming: Columns that identify a row, in addition to those of seeds and tasks.
        sizes: Columns of sizes, in addition to those with common names.
        names: Columns kept as text, as for arms called 70M.
        of_runs: Whether rows are runs: a score written as NaN is infinite (a diverged run), an empty one is missing.

    Returns:
        The rows, indexed by "line 2" below the header of a text file or "row 1" of other tables, with column names as
        text and numeric columns as numbers; and notes on how they were read.

    Raises:
        MissingDataError: The file does not exist.
        CorruptDataError: The file is not a table.
        DataError: The table has no rows, or two columns with the same name.
    """
    if isinstance(table, Frame):
        frame = table
    elif isinstance(table, pd.DataFrame):
        rows = table.set_axis([str(name) for name in table.columns], axis=1).reset_index(drop=True)
        twice = rows.columns[rows.columns.duplicated()]
        if len(twice):
            raise DataError(f"the table has several columns {twice[0]!r}; give each its own name")
        frame = Frame(rows, ())
    else:
        path = Path(table)
        if not path.is_file():
            raise missing_file("table", path, "give a CSV, TSV or JSON table with a row per measurement")
        frame = read_frame(path, of_runs=of_runs)
    rows = frame.rows
    usual = [n for n in rows.columns if words_in(str(n)) & REPEATS or plain_name(str(n)) in ROLES["task"].names.split()]
    rows, left = without_summaries(rows, [*dict.fromkeys([*usual, *naming])])
    counted = left and len(frame.numbers)
    kept = frame.numbers[frame.rows.index.get_indexer(rows.index)] if counted else frame.numbers
    columns, as_written = _read_as_written(
        {str(name): typed(rows[name]) for name in rows}, sizes, {*names, *naming}, of_runs=of_runs
    )
    if of_runs:
        others = {name for about in ROLES.values() if not about.alone for name in about.names.split()}
        scores = [name for name in columns if plain_name(name, "²") not in others and name not in naming]
        for name in [one for one in scores if columns[one].dtype == np.float64 and columns[one].isna().any()]:
            texts = frame.written[name].take(kept) if name in frame.written else rows[name]
            held = texts if isinstance(texts, pd.Series) else as_objects(texts)
            if is_text(held):  # NaN, as of a run that diverged
                columns[name] = columns[name].mask(held.str.strip().isin(_NO_NUMBER).to_numpy(), np.inf)
    return Frame(pd.DataFrame(columns).set_axis(places_of(rows.index)), (*frame.notes, *left, *as_written))


def numbers_in(table: pd.DataFrame, column: str, expected: str = "plain numbers, such as 64000") -> "pd.Series[float]":
    """Return a column as numbers, NaN for missing values.

    Args:
        expected: Expected content, for the message; VALUE in it is replaced by the value found.

    Raises:
        DataError: A cell is not a number.
    """
    numbers = pd.to_numeric(table[column], errors="coerce").astype(np.float64)
    strange = table[column][numbers.isna() & table[column].notna()]
    if len(strange):
        unread = strange[[size_in(str(cell)) is None for cell in strange]]
        strange = unread if len(unread) else strange
        expected = expected.replace("VALUE", str(strange.iloc[0]))
        raise DataError(
            f"column {column} holds {strange.iloc[0]!r} in {place_of(strange.index, 0)}; expected {expected}"
        )
    return numbers


def rows_where(table: pd.DataFrame, where: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows with these values by column, or without them if the column's name is followed by "!".

    Raises:
        UnknownNameError: A column or a value in it does not exist.
    """
    for column, value in where.items():
        name = column if column in table else column.removesuffix("!")
        if name not in table:
            raise unknown_name("column", name, map(str, table.columns))
        texts = texts_of(table[name])
        if not (texts == value).any():
            raise unknown_name(f"value of {name}", value, list(dict.fromkeys(texts)))
        table = table[(texts == value) == (name == column)]
    return table


def with_joined(table: pd.DataFrame, name: str | None) -> pd.DataFrame:
    """Return the table with a column for a name of several columns joined by +, containing their texts.

    Raises:
        UnknownNameError: One of them does not exist.
    """
    several = (name or "").split("+")
    if name is None or name in table or len(several) == 1:
        return table
    if unknown := [one for one in several if one not in table]:
        raise unknown_name("column", unknown[0], map(str, table.columns))
    rows = table[several].itertuples(index=False)
    return table.assign(**{name: [" ".join(filter(None, map(cell_text, row))) for row in rows]})


def long_form(
    table: pd.DataFrame,
    roles: Mapping[str, Role],
    given: Mapping[str, str | None],
    *,
    size: str,
    value: str,
    series: str | None = None,
) -> tuple[pd.DataFrame, dict[str, str], tuple[str, ...]]:
    """Convert a table with a column of scores for each size or series to one row per score.

    Args:
        roles: All roles by name, including `size`, `value` and `series`.
        given: Named columns by role; for `value`, optionally the metric of the score columns.
        series: The role of numeric columns without another one; None if such columns are ignored.

    Returns:
        The table, the new columns by role, and notes on how it was read; the table unchanged if it has one row per
        score.
    """
    alike = {
        role: {n for n in table.columns if plain_name(str(n), "²") in about.names_in(is_needed=True)}
        for role, about in roles.items()
    }
    numbered = [name for name in table.columns if size_of_column(str(name)) is not None]
    role, columns = size, numbered
    if series is not None and len(numbered) < 2:
        named = set().union(*alike.values(), given.values())
        others = list(table.columns.difference(list(named & {*table.columns}), sort=False))
        if series == "task":
            plain = {name: plain_name(str(name)) for name in others}
            others = [name for name in others if not ({plain[name], plain[name].split("_")[0]} & _NO_TASKS)]
        role, columns = series, [name for name in others if pd.api.types.is_numeric_dtype(table[name])]
    taken = [value] if role == size else [role, value]  # a size by its name goes before another number of the row
    if len(columns) < 2 or any(given.get(one) in table or alike[one] for one in taken):
        return table, {}, ()
    score = given.get(value) or value
    others = [name for name in table.columns if name not in columns]
    long = table.melt(others, columns, role, score, ignore_index=False)
    long.index = pd.Index([f"{place_of(long.index, at)}, column {column}" for at, column in enumerate(long[role])])
    if role == size:
        long[role] = long[role].map(size_of_column).astype(float)
    said = f"the columns {few(columns)} were read as {roles[value].what} of {roles[role].what}"
    return long[long[score].notna()], {role: role, value: score}, (said,)


def as_option(role: str, column: str) -> str:
    """Return how a role is assigned a column on the command line."""
    return f"--columns {role}={column or 'COLUMN'}"


def columns_by_role(
    frame: pd.DataFrame,
    roles: Mapping[str, Role],
    given: Mapping[str, str | None],
    *,
    optional: Collection[str],
    option: Callable[[str, str], str] = as_option,
) -> tuple[dict[str, str | None], list[str]]:
    """Return the columns of a table by role, each with one role.

    Args:
        roles: All roles, by name.
        given: Named columns by role; None for one to be found.
        optional: Roles that a table may lack.
        option: Function like `as_option`, for messages.

    Returns:
        A column, or None, for every role; and notes on what was found.

    Raises:
        UnknownNameError: A named column does not exist.
        SettingsError: A column cannot be found, or is ambiguous.
    """
    by_name: dict[str, list[str]] = {}
    for name, column in frame.items():
        # "train" and "test" are parts of data, and no repeats of a run
        if column.empty or any(str(value).lower() not in ALL_NAMES for value in column):
            by_name.setdefault(plain_name(str(name), "²"), []).append(str(name))
    notes: list[str] = []
    missing: list[str] = []
    found: dict[str, str | None] = dict.fromkeys(roles)
    taken = {column for column in given.values() if column}
    for role, about in roles.items():
        named = given.get(role)
        if named is not None:
            named = named if named in frame.columns else _unit_of(named)[0]
            if named not in frame.columns:
                raise unknown_name("column", named, map(str, frame.columns))
            found[role] = named
            continue
        names = about.names_in(is_needed=role not in optional)
        alike = [[name for name in by_name.get(alias, ()) if name not in taken] for alias in names]
        known = [name for names in alike for name in names]
        if role == "seed":  # the one that varies, as random_seed beside a constant seed
            spelled = [str(name) for name in frame if words_in(str(name)) & _SEEDS and name not in taken]
            counts = [name for name in spelled if words_in(name) & COUNTS]
            known = [name for name in dict.fromkeys([*known, *spelled]) if name not in counts]
            known = sorted(known, key=lambda name: frame[name].nunique() < 2)
            if counts and not known:
                notes.append(
                    f'column "{counts[0]}" counts seeds, so rows may be means; each is taken as one run: no '
                    'column "std" or "stderr" says how much runs vary'
                )
        if not known and role in optional:
            continue
        if about.alone and not known:  # as lambada_acc, which is not a common name
            known = [str(name) for name in frame if _is_measure(frame, str(name)) and name not in taken]
        if about.alone and len(known) > 1:
            raise SettingsError(
                f"the table has several metrics ({few(known)}); choose one with {option(role, known[0])}"
            )
        twins = [name for name in known if name.lower() == known[0].lower()] if known else []
        if len(twins) > 1:
            raise SettingsError(
                f"the columns {listed(twins)} could each be {about.what}; choose one with {option(role, twins[0])}"
            )
        if not known:
            missing.append(role)
            continue
        if known[1:] and plain_name(known[1], "²") == plain_name(known[0], "²"):
            raise SettingsError(
                f"the columns {known[0]} and {known[1]} differ only in case or punctuation, and each could be "
                f"{about.what}; choose one with {option(role, known[0])}"
            )
        found[role] = known[0]
        taken.add(known[0])
        if known[0] != names[0]:
            notes.append(f'using column "{known[0]}" as the {about.what}')
    if missing:
        raise SettingsError(
            f"the table has no column of {listed([roles[role].what for role in missing], last='or')} among "
            f"{few(frame.columns, 12)}; add {' '.join(option(role, '') for role in missing)}"
        )
    return found, notes


_SEEDS = frozenset(("seed", "seeds"))
_SPREADS = frozenset(("stderr", "std", "sd", "se", "sem", "ci", "low", "high", "lower", "upper", "min", "max", "var"))


def _is_measure(frame: pd.DataFrame, name: str) -> bool:
    """Return whether a numeric column is named like a metric, and not like a measure of spread."""
    words = words_in(name)
    return bool(words & (RISING | FALLING)) and not words & _SPREADS and pd.api.types.is_numeric_dtype(frame[name])


_NO_TASKS = _SIZED | {"average", "avg", "mean", "overall", "total", "rank", "position"}
"""Names, or first words of names, of columns of a leaderboard that are not tasks."""


def better_of(measure: str, named: Better | None) -> Better:
    """Return the direction of a metric: as given, or by the words in its name.

    Raises:
        SettingsError: The direction is unknown.
    """
    words = words_in(measure)
    told: Better | None = named or ("lower" if words & FALLING else "higher" if words & RISING else None)
    if told is None or (named is None and words & _REVERSING):
        raise SettingsError(
            f"the name {measure} does not say which scores are better; add --better higher or --better lower"
        )
    return told


def check_one_measure(frame: pd.DataFrame, score: str, *by: str) -> None:
    """Refuse rows of several metrics, and scores that mix fractions and percentages between groups of rows.

    Args:
        by: Columns whose values each have a single unit, such as arms and tasks.

    Raises:
        DataError: The rows mix metrics or units.
    """
    for name in frame.columns:
        if str(name).lower() in MEASURE_COLUMNS and frame[name].nunique() > 1:
            raise DataError(
                f"the rows mix metrics: column {name} holds {few(frame[name].dropna().unique())}; keep the rows of one"
            )
    values, words = pd.to_numeric(frame[score], errors="coerce"), set(re.findall(r"[a-z]+[0-9]?", score.lower()))
    for group in by if words & RISING and not R_SQUARED.search(score.lower()) else ():
        tops = values.groupby(frame[group]).max().dropna()
        if (tops <= 1).any() and (tops > 1).any():
            raise DataError(
                f"column {score} mixes units: at most 1 for {few(tops.index[tops <= 1])}, above 1 for "
                f"{few(tops.index[tops > 1])}; write all as shares or all in percent"
            )
