"""Formatting of numbers, lists, durations and names for all analyses."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

NO_BREAK = "\N{NO-BREAK SPACE}"

_MEASURE_WORDS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "matthews": "Matthews correlation",
    "average_precision": "average precision",
    "r2": "R²",
    "mse": "squared error",
}


def measure_words(record: str) -> str:
    """Return the name of a metric in prose."""
    return _MEASURE_WORDS.get(record, record)


Called = Mapping[str, str]
"""The display names of methods by their names in a study, the same in sentences, figures and tables.

Other names, of variants, commands or runs of other tools, are unchanged.
"""


def method_words(method: str, called: Called) -> str:
    """Return the display name of a method."""
    return called.get(method, method)


def candidate_words(method: str, source: str | None, called: Called = MappingProxyType({})) -> str:
    """Return a method with its source."""
    words = method_words(method, called)
    return f"{words} from {source}" if source else words


def distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with a number after each repeated one: "digits", "digits-2"."""
    kept: list[str] = []
    for name in names:
        others = (f"{name}-{i}" for i in itertools.count(2))
        kept.append(name if name not in kept else next(one for one in others if one not in {*names, *kept}))
    return kept


AS_WRITTEN = "\N{WORD JOINER}"
"""Before a user's own name in a sentence that is being made: its first letter stays as it was written."""


def capitalised(text: str) -> str:
    """Capitalise the first letter, and leave the rest unchanged."""
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], *, last: str = "and") -> str:
    """Join items in a sentence: "a", "a and b", "a, b and c"."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def few(names: Iterable[object], most: int = 5) -> str:
    """Join at most `most` names in a sentence, with the number of further ones."""
    texts = [str(name) for name in names]
    return listed(texts if len(texts) <= most else [*texts[: most - 1], f"{len(texts) - most + 1} more"])


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun: "1 seed", "5 seeds", "1,200 labels"."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def unit_kept(text: str) -> str:
    """Put non-breaking spaces between numbers and units."""
    joined = re.sub(r"(\d) (%|points\b|labels?\b|seeds?\b)", rf"\1{NO_BREAK}\2", text)
    return re.sub(r"([<>]) (\d)", rf"\1{NO_BREAK}\2", joined)


_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters but for tab and newline, marks of direction (of the bidirectional algorithm), line separators,
signs without width, and halves of surrogate pairs."""


def signs_shown(text: str) -> str:
    """Escape characters that would control a terminal or reverse the direction of text, as in JSON."""
    return _STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


ALL_LABELS = 0
"""The number of labels of runs that learn from all there are, however many those be."""


def sizes_in_words(sizes: Sequence[int]) -> str:
    """Return numbers of labels: "1 label", "20 and 1,000 labels", or "all labels".

    More than five are given as a range: "200 to 12,800 labels (7 numbers)".
    """
    if list(sizes) == [ALL_LABELS]:
        return "all labels"
    if len(sizes) > 5:
        return f"{sizes[0]:,} to {sizes[-1]:,} labels ({len(sizes)} numbers)"
    return f"{listed([f'{n:,}' for n in sizes])} {'label' if list(sizes) == [1] else 'labels'}"


def number_words(value: float, *, share: bool = False) -> str:
    """Return three digits, thousands in full, with a minus sign: "0.0546", "−1.2", "2,358"; a share as "12 %"."""
    if share:
        return f"{100 * value:.3g} %".replace("-", "−")
    if value == float("inf"):
        return "infinity"
    words = f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"
    return words.replace("-", "−")


def size_words(size: float) -> str:
    """Return "1.28 billion"; outside millions to trillions like `number_words`."""
    for word, unit in (("trillion", 1e12), ("billion", 1e9), ("million", 1e6)):
        if unit <= size < 1e15:
            return f"{size / unit:.3g} {word}"
    return number_words(size)


def signed(value: float, digits: int) -> str:
    """Return a number with its sign and a minus sign; values rounded to 0 get a plus."""
    return f"{value:+z.{digits}f}".replace("-", "−")


def probability_words(p: float) -> str:
    """Return a probability from a few thousand draws, never as certain."""
    if math.isnan(p):
        return "–"
    if p >= 0.995:
        return "> 99 %"
    return "< 1 %" if p <= 0.005 else f"{100 * p:.0f} %"


def duration(seconds: float) -> str:
    """Return a measured wall-clock time in a suitable unit; a dash if unknown."""
    if math.isnan(seconds):
        return "–"
    if seconds < 0.01:
        return "< 0.01 s"
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.1f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def rough_duration(seconds: float) -> str:
    """Return a remaining or expected duration, to about two digits: "8 s", "12 min", "3 h 20 min"."""
    if round(seconds) < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def duration_between(low: float, high: float) -> str:
    """Return the ends of a duration: "2 to 5 min", "about 3 min" where both are shown alike, "40 s to 2 min"."""
    first, last = rough_duration(low), rough_duration(high)
    if first == last:
        return f"about {last}"
    number, _, unit = first.partition(" ")
    return f"{number if last.endswith(f' {unit}') and last.count(' ') == 1 else first} to {last}"


def memory(n_bytes: float) -> str:
    """Return memory in MiB or GiB; a dash if unknown."""
    if not n_bytes > 0:
        return "–"
    mib = n_bytes / 2**20
    return f"{mib:.0f} MiB" if mib < 1000 else f"{mib / 1024:.1f} GiB"


def large_count(n: float, billion: str = "G") -> str:
    """Return a large count to three digits: "940", "61.7 k", "1.28 M"; billions as G, of parameters and tokens as B."""
    for unit, size in (("T", 1e12), (billion, 1e9), ("M", 1e6), ("k", 1e3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:.0f}"


def cell_words(role: str, labels: Mapping[str, object]) -> str:
    """Describe a cell: "fine-tune from fashion, 600 labels, seed 2", or "curvature of fine-tune from ..."."""
    parts = [str(labels.get("method") or role)]
    if labels.get("source") is not None:
        parts[0] += f" from {labels['source']}"
    if labels.get("pretrain_step") is not None:
        parts[0] += f" after {labels['pretrain_step']} steps"
    if labels.get("diagnostic") is not None:
        parts[0] = f"{labels['diagnostic']} of {parts[0]}"
    if labels.get("n_target") is not None:
        parts.append(f"{labels['n_target']} labels" if labels["n_target"] != ALL_LABELS else "all labels")
    if labels.get("seed") is not None:
        parts.append(f"seed {labels['seed']}")
    return ", ".join(parts)


def precision_in_words(chosen: object) -> str:
    """Describe the planned choice of precision = "auto": "float32" or "bfloat16"."""
    has = "has" if chosen == "bfloat16" else "has no"
    return f'{chosen}, as precision = "auto" was planned on a machine that {has} instructions for bfloat16'


def data_in_words(entry: Mapping[str, object]) -> str:
    """Describe how a data set was read and the effect of its transforms, from its entry in the facts of a study.

    Returns:
        As in "classification, 10 classes: 0, 1, ..."; with "after classes:5-10: 7,454 training and 1,502 test examples
        of 5 classes" where there are transforms; "" where no file was read.
    """
    provenance = entry.get("provenance")
    origin = provenance if isinstance(provenance, Mapping) else {}
    understood, transforms = origin.get("understood"), origin.get("transforms")
    n_train, n_test = entry.get("n_train"), entry.get("n_test")
    if not understood or not transforms or not isinstance(n_train, int) or not isinstance(n_test, int):
        return str(understood or "")
    n_outputs = entry.get("n_outputs")
    of_classes = ""
    if entry.get("kind") == "classification" and isinstance(n_outputs, int):
        of_classes = f" of {counted(n_outputs, 'class', 'classes')}"
    return f"{understood}; after {transforms}: {n_train:,} training and {n_test:,} test examples{of_classes}"


def weights_in_words(entry: Mapping[str, object]) -> str:
    """Describe the weights that a file provided to the network, from the source's entry in the facts of a study.

    Returns:
        As in "net.safetensors gives 270,160 of the backbone's 270,160 numbers (100 %)"; with "left out: ..." for what
        the network lacks.
    """
    file, matched, backbone = entry.get("file"), entry.get("matched_numbers"), entry.get("backbone_numbers")
    if not isinstance(matched, int) or not isinstance(backbone, int):
        return str(file or "a network")
    share = f" ({100 * matched / backbone:.3g} %)" if backbone else ""
    left = entry.get("left_out")
    more = f", left out: {listed([str(name) for name in left])}" if isinstance(left, list) and left else ""
    lacking = entry.get("lacking")
    if isinstance(lacking, list) and lacking:
        more = f"; random instead are {listed([str(name) for name in lacking])}{more}"
    if entry.get("architecture"):
        more += f"; network: {entry['architecture']}"
    if entry.get("input"):
        more += f"; inputs: {entry['input']}"
    return f"{file} gives {matched:,} of the backbone's {backbone:,} numbers{share}{more}"


def slug(name: str) -> str:
    """Return a name for files and tables."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "data"


def transforms_to_add(*transforms: str) -> str:
    """Return the advice to transform data: as a study file has it, and as the commands take it."""
    listed = ", ".join(f'"{one}"' for one in transforms)
    return (
        f"add transforms = [{listed}] to the study file (rank, diagnose: --transforms {' '.join(transforms)}; compare: "
        f"--set 'target.transforms=[{listed}]', and the same for sources.NAME)"
    )
