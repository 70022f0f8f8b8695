"""How many labels are needed, with transfer and without: `question.plan`."""

from transferscope.analyses.plan.facts import LabelPlan
from transferscope.analyses.plan.measurements import read_scores
from transferscope.analyses.plan.question import plan
from transferscope.analyses.plan.result import PlanResult
from transferscope.analyses.plan.study import study_part
from transferscope.settings.questions import LabelColumns, PlanQuestion

__all__ = ["LabelColumns", "LabelPlan", "PlanQuestion", "PlanResult", "plan", "read_scores", "study_part"]
