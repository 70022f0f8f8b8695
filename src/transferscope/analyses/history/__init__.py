"""The next arm to try on a task, from finished runs on other tasks: `question.propose`."""

from transferscope.analyses.history.question import propose
from transferscope.analyses.history.result import Proposal, ProposalResult

__all__ = ["Proposal", "ProposalResult", "propose"]
