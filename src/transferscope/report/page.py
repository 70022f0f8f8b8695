"""What a page about a study is made of: each analysis fills its place under one of four questions."""

from dataclasses import dataclass
from typing import Literal

from transferscope.report.blocks import Section

Question = Literal["whether", "which", "how much", "why"]

QUESTIONS: dict[Question, str] = {
    "whether": "Whether transfer helps",
    "which": "Which way to transfer, and from what",
    "how much": "How much pre-training and how many labels",
    "why": "Why",
}
"""The headings of the page of a study, in the order of reading."""


@dataclass(frozen=True)
class Part:
    """What one analysis says on the page of a study.

    Attributes:
        question: Under which heading it stands.
        sentence: Its answer in one sentence, above its sections.
        sections: Its evidence.
    """

    question: Question
    sentence: str
    sections: tuple[Section, ...]
