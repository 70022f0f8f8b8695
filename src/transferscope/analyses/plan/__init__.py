"""How many labels it takes, with transfer and without: `question.plan`."""

from transferscope.analyses.plan.facts import LabelPlan, PlanQuestion
from transferscope.analyses.plan.measurements import LabelColumns
from transferscope.analyses.plan.question import plan
from transferscope.analyses.plan.result import PlanResult

__all__ = ["LabelColumns", "LabelPlan", "PlanQuestion", "PlanResult", "plan"]
