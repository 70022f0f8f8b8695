"""Finished runs of many tasks, and what they say to try next on a new one: `question.propose`."""

from transferscope.analyses.history.question import add_to_history, propose
from transferscope.analyses.history.records import History
from transferscope.analyses.history.result import Proposal, ProposalResult

__all__ = ["History", "Proposal", "ProposalResult", "add_to_history", "propose"]
