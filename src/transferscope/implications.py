"""What the headline of a diagnostic implies for one network: its value at the end of training, from that at the start.

Words only, without torch: a network that was just measured and a page about a whole study say the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from transferscope.errors import unknown_name
from transferscope.wording import number_words


@dataclass(frozen=True)
class Implication:
    """How the values of one headline are said.

    Attributes:
        fact: What was seen, with "{value}" for the number or numbers, and names of settings in braces.
        lower: What a value lower at the end than at the start says about training, after "training".
        higher: The same for a higher value; both empty for what compares with the start by itself.
        alone: What the value says without one at the start, without numbers; it may say nothing.
        share: Whether the value is a share of 1, said in per cent.
        further: What other records of the same measurement add, a sentence without its stop; it may say nothing.
    """

    fact: str
    lower: str = ""
    higher: str = ""
    alone: Callable[[float], str] = lambda value: ""
    share: bool = False
    further: Callable[[Mapping[str, float]], str] = lambda values: ""


def change_clause(headline: str, value: float, at_start: float | None) -> str:
    """What a value implies, as a clause without numbers.

    Args:
        headline: Name of the record.
        value: At the end of training, finite.
        at_start: At its start; None where that was not measured, or the headline compares with the start by itself.

    Returns:
        "training ended in a flatter place than it began"; empty when the value alone implies nothing.
    """
    known = implication_of(headline)
    if at_start is None or not known.lower:
        return known.alone(value)
    if number_words(value) == number_words(at_start):
        return "training left it as it was"
    return f"training {known.lower if value < at_start else known.higher}"


def implied(
    headline: str,
    values: Mapping[str, float],
    at_start: Mapping[str, float] | None = None,
    settings: Mapping[str, object] | None = None,
) -> str:
    """What the values of one network imply for it.

    Args:
        headline: Name of the record that it is about.
        values: Records at the end of training by name; that of the headline is finite.
        at_start: The same at its start; None or without a finite headline where that was not measured.
        settings: Of the diagnostic, where a fact names them.

    Returns:
        One or two sentences.
    """
    known, value = implication_of(headline), values[headline]
    before = (at_start or {}).get(headline)
    before = before if before is not None and before == before and known.lower else None
    said = fact_words(headline, number_words(value, share=known.share), settings)
    if before is not None:
        said += f", {number_words(before, share=known.share)} at the start"
    clause, further = change_clause(headline, value, before), known.further(values)
    return f"{said}{f': {clause}' if clause else ''}.{f' {further}.' if further else ''}"


def fact_words(headline: str, numbers: str, settings: Mapping[str, object] | None = None) -> str:
    """What was seen, with these numbers in it.

    Args:
        headline: Name of the record.
        numbers: One number, or several with what each belongs to.
        settings: Of the diagnostic; None on a page about a study.
    """
    given = dict(settings or {})
    filters = "each filter by up to {radius:g} times its norm"
    if given.get("directions") == "eigenvectors":
        filters = "the weights along the sharpest directions by up to {radius:g} times their norm"
    moved = filters.format(**given) if "radius" in given else "the weights within the radius of the landscape"
    steps = f"{given['steps']} steps" if "steps" in given else "the steps taken"
    return implication_of(headline).fact.format(value=numbers, moved=moved, steps=steps)


def implication_of(headline: str) -> Implication:
    """The words of a headline.

    Raises:
        UnknownNameError: There are none.
    """
    if headline not in IMPLICATIONS:
        raise unknown_name("headline of a diagnostic", headline, IMPLICATIONS)
    return IMPLICATIONS[headline]


def _of_layers(values: Mapping[str, float]) -> str:
    """Which layer moved most, as a share of its own size."""
    prefix = "weight_deviation_relative/"
    layers = {name.removeprefix(prefix): v for name, v in values.items() if name.startswith(prefix) and v == v}
    if not layers:
        return ""
    most, least = max(layers, key=layers.__getitem__), min(layers, key=layers.__getitem__)
    words = f"Relative to its own size {most} moved most ({number_words(layers[most], share=True)})"
    if most != least:
        words += f" and {least} least ({number_words(layers[least], share=True)})"
    stayed = "so little of its start is left there" if layers[most] >= 1 else "so its start is still in all of it"
    return f"{words}, {stayed}"


def _of_kernels(values: Mapping[str, float]) -> str:
    names = ("kernel_deviation", "kernel_deviation_scratch")
    tuned, scratch = (values.get(name, float("nan")) for name in names)
    if tuned != tuned or scratch != scratch:
        return ""
    return (
        f"In this model fine-tuning moves the weights by at most {number_words(tuned)}, and training from a random "
        f"start by {number_words(scratch)}"
    )


def _of_source(values: Mapping[str, float]) -> str:
    target, source = (values.get(n, float("nan")) for n in ("negative_entropy", "source_negative_entropy"))
    if target != target or source != source or target == source:
        return ""
    side = "more" if source < target else "less"
    return f"That of the source data is {number_words(source)}, so they vary {side} than the target's in these features"


def _of_leading(values: Mapping[str, float]) -> str:
    share = values.get("leading_share", float("nan"))
    return "" if share != share else f"{number_words(share, share=True)} of their variance lies along one of them"


def _of_change(values: Mapping[str, float]) -> str:
    change = values.get("ntk_change", float("nan"))
    return "" if change != change else f"It has turned by {number_words(change, share=True)} since the start"


IMPLICATIONS: dict[str, Implication] = {
    "weight_deviation": Implication(
        "Training moved the weights by {value} from where it started (over the root of the number of examples, summed "
        "over layers)",
        alone=lambda value: "they did not move at all" if value == 0 else "",
        further=_of_layers,
    ),
    "hessian_eigenvalue/1": Implication(
        "The sharpest direction of the loss has curvature {value}",
        lower="ended in a flatter place than it began",
        higher="ended in a sharper place than it began",
        alone=lambda value: (
            "steps of gradient descent above 2 divided by it diverge along it"
            if value > 0
            else "the loss curves upwards in no direction, so this is no minimum"
        ),
    ),
    "hessian_trace": Implication(
        "The curvatures of the loss in all directions add up to {value}",
        lower="ended where the loss is flatter on the whole than where it began",
        higher="ended where the loss is sharper on the whole than where it began",
        alone=lambda value: "" if value > 0 else "downward curvature outweighs upward curvature, so this is no minimum",
    ),
    "hessian_flat_share": Implication(
        "{value} of all directions in the weights are flat (curvature within 1 % of the largest from zero)",
        lower="used up directions that were free where it began",
        higher="left more directions free than there were where it began",
        share=True,
    ),
    "landscape_rise": Implication(
        "Moving {moved} raises the loss by {value} on average",
        lower="ended where the loss rises less around the network than where it began",
        higher="ended where the loss rises more around the network than where it began",
        alone=lambda value: "" if value > 0 else "the loss around is lower on average than at the network itself",
    ),
    "loss_barrier": Implication(
        "On the straight line between the two networks the loss rises {value} above the line between its ends",
        alone=lambda value: "nothing separates them on this line" if value == 0 else "",
    ),
    "loss_variation_gradient_step": Implication(
        "Within {steps} along the gradient the loss changes by up to {value}",
        lower="ended where the loss changes less along its gradient than where it began",
        higher="ended where the loss changes more along its gradient than where it began",
    ),
    "gradient_ratio_spread": Implication(
        "The factors by which back-propagation changes gradients from layer to layer spread by {value} (log10)",
        lower="made them more even",
        higher="made them less even",
        alone=lambda value: "layers learn at paces that differ by more than 10 times" if value >= 1 else "",
    ),
    "variance_ratio": Implication(
        "Examples scatter within their class {value} times as much as class means scatter",
        lower="drew the classes apart",
        higher="mixed the classes",
        alone=lambda value: (
            "classes lie further apart than their examples scatter"
            if value < 1
            else "examples scatter more than classes lie apart"
        ),
    ),
    "feature_label_alignment": Implication(
        "Reading the labels off the features with a linear head costs {value} (squared norm of the head and its scaled "
        "squared error)",
        lower="brought the features closer to the labels",
        higher="moved the features away from the labels",
    ),
    "effective_rank": Implication(
        "The features use about {value} directions",
        lower="gave up directions of the features",
        higher="added directions to the features",
        further=_of_leading,
    ),
    "cka": Implication(
        "The features agree with those of the network compared with at CKA {value} (1: equal up to rotation and scale)",
        alone=lambda value: (
            "they were kept" if value >= 0.9 else "they were kept in part" if value >= 0.5 else "they were learnt anew"
        ),
    ),
    "unexplained_share": Implication(
        "A linear head on these features misses {value} of the target function",
        lower="added what a linear head on the features of the start misses",
        higher="lost part of what a linear head on the features of the start reads",
        share=True,
    ),
    "negative_entropy": Implication(
        "A Gaussian fitted to the features has negative entropy {value} nats",
        lower="made the features of these data more varied",
        higher="made the features of these data less varied",
        further=_of_source,
    ),
    "kernel_task_distance": Implication(
        "What a wide network learns on the source leaves {value} of the target labels unexplained (100 %: it knows "
        "nothing)",
        alone=lambda value: f"in this model pre-training {'helps' if value < 1 else 'misleads'}",
        share=True,
        further=_of_kernels,
    ),
    "ntk_label_alignment": Implication(
        "The tangent kernel agrees with the target labels at {value} of 1",
        lower="turned it away from these labels",
        higher="turned it towards these labels, which gradient descent would now fit faster",
        further=_of_change,
    ),
}
"""The words of every headline."""
