"""What finished runs of other tasks say to try next on a new one: `question.propose`."""

from transferscope.analyses.history.question import propose
from transferscope.analyses.history.result import Proposal, ProposalResult

__all__ = ["Proposal", "ProposalResult", "propose"]
