"""The label plan of a study, and its part of the report."""

from transferscope.analyses.plan.facts import LabelPlan, make_plan
from transferscope.analyses.plan.measurements import study_measurements
from transferscope.analyses.plan.result import PlanResult
from transferscope.errors import DataError, SettingsError
from transferscope.report.blocks import Points, Section
from transferscope.report.page import Part
from transferscope.settings.questions import PlanQuestion
from transferscope.study.decisions import Arm, arms_of, best_baseline, decisions
from transferscope.study.finished import arm_trainings
from transferscope.study.frames import StudyFrames


def plan_of_study(frames: StudyFrames, question: PlanQuestion) -> LabelPlan:
    """Plan the labels of a study that was read already, from its decisions and its unfinished baselines."""
    measured, best = study_measurements(frames, question.target_score), best_baseline(frames)
    cut_off = [
        one.n_target for one in arm_trainings(frames) if one.unfinished and best == Arm(one.method, one.source or "")
    ]
    called = {str(arm): frames.in_prose(arm.method, arm.source) for n in frames.sizes for arm in arms_of(frames, n)}
    better = frozenset(called[name] for one in decisions(frames).values() for name in one.helping)
    return make_plan(measured, question, cut_off=tuple(cut_off), better=better)


def study_part(frames: StudyFrames) -> Part | None:
    """Return the part of a study's report; None if no law can be fitted, as with two numbers of labels."""
    try:
        plan = plan_of_study(frames, PlanQuestion())
    except (DataError, SettingsError):
        return None
    if plan.lead.curve is None:
        return None
    result = PlanResult(plan, frames.study.name)
    verdict, (evidence,) = result.verdict, result.sections()
    blocks = (Points(verdict.sentences), *evidence.blocks)
    return Part("how much", verdict.headline, (Section("A plan of labels", "plan", blocks),))
