"""The answer first, in plain words."""

from transferscope.report.blocks import Block, Section, Text
from transferscope.report.results import Summary


def verdict_section(summary: Summary) -> Section:
    """Headline and sentences of the verdict."""
    verdict = summary.verdict
    blocks: list[Block] = [Text(verdict.headline, "lead")]
    blocks.extend(Text(sentence) for sentence in verdict.sentences)
    return Section("Verdict", "verdict", tuple(blocks))
