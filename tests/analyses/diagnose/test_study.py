"""What the report says about diagnostics, as facts about made-up studies (e2e/test_why.py checks its numbers)."""

import re
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.diagnose.study import Diagnosis, diagnoses_of
from transferscope.analyses.diagnose.study_section import meaning_of, study_part
from transferscope.analyses.diagnose.words import IMPLICATIONS, implied
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.estimate import Estimate
from transferscope.records import Cost, Record
from transferscope.report.blocks import Folded, Section, Table, Text
from transferscope.store import Outcome, PlannedCell, Store, StudyRow

pytestmark = pytest.mark.long  # four stores with every diagnostic of every method

VALUES: Mapping[str, float] = {"scratch": 4.0, "fine-tune": 1.0, "linear-probe": 2.0, "l2-sp": 1.5, "joint": 3.0}
MEANS = {method: value * (1 + 1.1 + 1.21) / 3 for method, value in VALUES.items()}


def _study(folder: Path, *, baseline: bool, at_start: float | None) -> Summary:
    """Every diagnostic has the values of VALUES, 10 % more in every further seed; accuracy falls with them."""
    methods = [method for method in VALUES if baseline or method != "scratch"]
    outcomes: dict[str, Outcome] = {}
    cells: list[PlannedCell] = []
    for method, seed in product(methods, range(3)):
        source = None if method == "scratch" else "photos"
        labels = {"source": source, "method": method, "n_target": 40, "n_source": None, "seed": seed}
        fit = PlannedCell(f"{method}-{seed}", "method", labels, {})
        accuracy = 0.9 - 0.1 * VALUES[method]
        predictions = (np.arange(50) % 2).astype(np.int32)
        predictions[: round(50 * (1 - accuracy))] ^= 1
        cells.append(fit)
        outcomes[fit.key] = Outcome((Record("accuracy", Estimate(accuracy)),), Cost(), {"predictions": predictions})
        for name, diagnostic in DIAGNOSTICS.items():
            look = PlannedCell(f"{name}-{fit.key}", "diagnose", labels | {"diagnostic": name}, {}, (fit.key,))
            records = [Record(diagnostic.headline, Estimate(VALUES[method] * 1.1**seed), "target_train")]
            if at_start is not None:
                records.append(Record(diagnostic.headline, Estimate(at_start), "target_train", 0))
            notes = {"headline": diagnostic.headline, "last_step": 9}
            cells.append(look)
            outcomes[look.key] = Outcome(tuple(records), Cost(), notes=notes)
    spec = {"name": "made-up", "methods": {method: {} for method in methods}, "seeds": [0, 1, 2]}
    with Store.open(folder / "made-up.sqlite") as store:
        store.plan(StudyRow("made-up", spec, {}, "2026-11-21T09:00:00+00:00"), cells)
        store.put_study_array("made-up", "target_test_labels", np.arange(50) % 2)
        for key, outcome in outcomes.items():
            store.finish(key, outcome)
        return summarise(store, "made-up")


class Page:
    """What the section of one made-up study shows."""

    def __init__(self, summary: Summary) -> None:
        part = study_part(summary)
        assert part is not None
        (section,) = part.sections
        self.sentence = part.sentence
        self.section: Section = section
        self.diagnoses: dict[str, Diagnosis] = {d.headline: d for d in diagnoses_of(summary, 40)}
        assert len(self.diagnoses) == len(DIAGNOSTICS)
        tables = [block for block in section.blocks if isinstance(block, Table)]
        (self.table,) = (table for table in tables if table.caption.startswith("Mean over seeds"))
        self.answers = [table for table in tables if table is not self.table]

    @property
    def texts(self) -> list[str]:
        """Everything that is said, folded text included."""
        parts = [p for b in self.section.blocks for p in (b.blocks if isinstance(b, Folded) else (b,))]
        return [self.sentence, *(part.text for part in parts if isinstance(part, Text))]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[bool, float | None], Page]:
    made = {}
    for baseline, at_start in product((True, False), (None, 2.5)):
        folder = tmp_path_factory.mktemp("made-up")
        made[baseline, at_start] = Page(_study(folder, baseline=baseline, at_start=at_start))
    return made


def test_every_headline_has_words() -> None:
    headlines = {diagnostic.headline for diagnostic in DIAGNOSTICS.values()}
    assert headlines == set(IMPLICATIONS)
    assert all(known.title and known.limits for known in IMPLICATIONS.values())


def test_no_text_compares_with_scratch_where_there_is_none(pages: dict[tuple[bool, float | None], Page]) -> None:
    for (baseline, _), page in pages.items():
        captions = [getattr(block, "caption", "") for block in page.section.blocks]
        assert ("scratch" in " ".join([*page.texts, *captions]).lower()) == baseline


def test_nothing_is_said_twice_and_no_claim_goes_beyond_the_network(
    pages: dict[tuple[bool, float | None], Page],
) -> None:
    for page in pages.values():
        assert len(page.texts) == len(set(page.texts))
        for fold in (block for block in page.section.blocks if isinstance(block, Folded)):
            words = " ".join(part.text for part in fold.blocks if isinstance(part, Text))
            clauses = [clause.strip() for clause in re.split(r"[.;:] |\(.*?\)", words) if len(clause.split()) > 3]
            assert len(clauses) == len(set(clauses))
        for claim in ("of the source was kept", "target error", "one seed's"):
            assert claim not in " ".join(page.texts)


def test_folded_numbers_are_those_of_the_table(pages: dict[tuple[bool, float | None], Page]) -> None:
    for page in pages.values():
        for column, diagnosis in enumerate(page.diagnoses.values(), start=1):
            numbers = meaning_of(diagnosis)[0]
            assert numbers in page.texts
            for row in page.table.rows:
                assert row[column].text != "–"
                assert f"{row[column].text} (" in numbers


@pytest.mark.parametrize("headline", [name for name, known in IMPLICATIONS.items() if known.lower])
def test_each_network_is_told_from_its_own_start(pages: dict[tuple[bool, float | None], Page], headline: str) -> None:
    known, said = IMPLICATIONS[headline], meaning_of(pages[True, 2.5].diagnoses[headline])[1]
    lower = {method for method, mean in MEANS.items() if mean < 2.5}
    first = {
        "scratch": "from scratch",
        "fine-tune": "fine",
        "linear-probe": "linear",
        "l2-sp": "L2-SP",
        "joint": "joint",
    }
    for clause, methods in ((known.lower, lower), (known.higher, MEANS.keys() - lower)):
        named = re.search(re.escape(clause) + r" \(([^)]*)\)", said)
        assert named is not None
        assert {method for method, word in first.items() if word.lower() in named[1].lower()} == methods


def test_the_correlation_in_words_has_the_sign_of_the_table(pages: dict[tuple[bool, float | None], Page]) -> None:
    page = pages[True, None]
    assert all(d.correlation is not None and d.correlation.value == pytest.approx(1) for d in page.diagnoses.values())
    assert sum("rank correlation 1.00 with the target risk" in text for text in page.texts) == len(DIAGNOSTICS)


def test_each_diagnostic_has_a_line_with_what_was_expected_and_what_follows(
    pages: dict[tuple[bool, float | None], Page],
) -> None:
    """In the made-up study every headline rises with the risk, so that those expected to fall are against it."""
    page = pages[True, None]
    (answers,) = page.answers
    follows = {row[0].text.lower(): row[3].text.split(":")[0].split(";")[0] for row in answers.rows}
    against = {"hessian_flat_share", "ntk_label_alignment"}
    neutral = {"effective_rank", "cka", "negative_entropy"}
    for headline, known in IMPLICATIONS.items():
        expected = "Against what was expected" if headline in against else "As expected"
        expected = "It goes with the transfer" if headline in neutral else expected
        assert follows[known.title.lower()] == expected
    assert page.sentence.startswith(f"With 40 labels {len(IMPLICATIONS)} of {len(IMPLICATIONS)} diagnostics go with")


@pytest.mark.parametrize("headline", sorted(IMPLICATIONS))
@pytest.mark.parametrize(("start", "end"), [(1.0, 0.25), (0.25, 1.0), (0.5, 0.5)])
def test_a_single_network_is_told_from_start_against_end(headline: str, start: float, end: float) -> None:
    known, said = IMPLICATIONS[headline], implied(headline, {headline: end}, {headline: start})
    for clause, holds in {known.lower: end < start, known.higher: end > start}.items():
        assert not clause or (clause in said) == holds
    assert ("at the start" in said) == bool(known.lower)
    assert "scratch" not in implied(headline, {headline: end})
