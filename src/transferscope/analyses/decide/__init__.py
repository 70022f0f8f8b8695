"""Whether and what to transfer, decided at the least cost; see `question.decide`."""

from transferscope.analyses.decide.question import DecisionResult, decide

__all__ = ["DecisionResult", "decide"]
