from dataclasses import replace
from pathlib import Path

from transferscope.analyses.compare.samples import data_of, data_section
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import origins_section
from transferscope.data import Dataset, load
from transferscope.report.blocks import Cards, Folded, Table, Text


def test_data_come_with_counts_licence_and_checksum(summary: Summary) -> None:
    section = data_section(summary.frames, {})
    (cards,) = section.blocks
    assert isinstance(cards, Cards)
    assert [card.title for card in cards.cards] == ["Target: usps", "Source: fashion", "Source: mnist"]
    said = " ".join(block.text for block in cards.cards[0].blocks if isinstance(block, Text))
    for fact in ("7,291 training", "2,007 test", "none stated", "https://example.org/usps.bz2", "0123456789abcdef"):
        assert fact in said


def test_all_facts_and_settings_are_in_a_file_whatever_they_are(summary: Summary) -> None:
    facts = {"versions": {"torch": "2.13"}, "strange": [1, 2], "none": None}
    study = replace(summary.frames.study, facts=facts)
    table = origins_section(replace(summary, frames=replace(summary.frames, study=study))).files["study"]
    rows = dict(zip(table["name"], table["value"], strict=True))
    assert {"versions.torch": "2.13", "strange": "1, 2", "none": "None"}.items() <= rows.items()
    assert rows["settings.training.steps"] == "3000"


def test_the_page_says_how_each_arm_was_trained(summary: Summary) -> None:
    said = {"method": "fine-tune", "source": "mnist", "labels": [100, 6000], "training": "SGD 0.02", "from": "BiT"}
    study = replace(summary.frames.study, facts={"recipes": [said, {"method": "lacks the rest"}, 3]})
    blocks = origins_section(replace(summary, frames=replace(summary.frames, study=study))).blocks
    (table,) = [block for folded in blocks if isinstance(folded, Folded) for block in folded.blocks]
    assert isinstance(table, Table)
    ((arm, *others),) = [[cell.text for cell in row] for row in table.rows]
    assert "mnist" in arm
    assert others == ["100, 6,000", "SGD 0.02", "BiT"]


def test_a_page_reads_installed_kinds_again_and_runs_no_code_that_a_name_refers_to(
    summary: Summary, tmp_path: Path
) -> None:
    (tmp_path / "planted.py").write_text("raise SystemExit('the page of a study ran it')\n")
    names = ("scenes?size=8&n_train=20&n_test=10", "half-images:digits?parts=A", f"{tmp_path}/planted.py:data")
    loaded = load(names[0])
    facts = {"sources": {"0": {"fingerprint": loaded.fingerprint}, "1": {}, "2": {}}}
    spec = {"sources": {str(k): {"data": name} for k, name in enumerate(names)}}
    study = replace(summary.frames.study, spec=spec, facts=facts)
    found = data_of(replace(summary.frames, study=study))
    assert isinstance(found["0"], Dataset)
    assert found["0"].fingerprint == loaded.fingerprint
    assert found["1"] is found["2"] is None  # a name in a name may be of anything
