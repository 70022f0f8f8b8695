"""What diagnostics say of one network, in words and without torch: their headline at both ends, what it implies."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from transferscope.wording import capitalised, number_words

MOST_NAMED = 6
"""Weights that were left out and are named one by one."""


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
        title: What the headline measures, as a heading.
        limits: One sentence that says what it cannot tell; empty where nothing is known of it.
    """

    fact: str
    lower: str = ""
    higher: str = ""
    alone: Callable[[float], str] = lambda value: ""
    share: bool = False
    further: Callable[[Mapping[str, float]], str] = lambda values: ""
    title: str = ""
    limits: str = ""


def change_clause(known: Implication, value: float, at_start: float | None) -> str:
    """What a value implies, as a clause without numbers.

    Args:
        value: At the end of training, finite.
        at_start: At its start; None where that was not measured, or the headline compares with the start by itself.

    Returns:
        "training ended in a flatter place than it began"; empty when the value alone implies nothing.
    """
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
    *,
    title: str = "",
) -> str:
    """What the values of one network imply for it.

    Args:
        values: Records at the end of training by name; that of the headline is finite.
        at_start: The same at its start; None or without a finite headline where that was not measured.
        settings: Of the diagnostic, where a fact names them.
        title: What a diagnostic from outside calls its headline.
    """
    known, value = implication_of(headline, title=title), values[headline]
    before = (at_start or {}).get(headline)
    before = before if before is not None and before == before and known.lower else None
    said = fact_words(known, number_words(value, share=known.share), settings)
    if before is not None:
        said += f", {number_words(before, share=known.share)} at the start"
    clause, further = change_clause(known, value, before), known.further(values)
    return f"{said}{f': {clause}' if clause else ''}.{f' {further}.' if further else ''}"


def fact_words(known: Implication, numbers: str, settings: Mapping[str, object] | None = None) -> str:
    """What was seen, with these numbers in it: one, or several with what each belongs to."""
    given = dict(settings or {})
    filters = "each filter by up to {radius:g} times its norm"
    if given.get("directions") == "eigenvectors":
        filters = "the weights along the sharpest directions by up to {radius:g} times their norm"
    moved = filters.format(**given) if "radius" in given else "the weights within the radius of the landscape"
    steps = f"{given['steps']} steps" if "steps" in given else "the steps taken"
    return known.fact.format(value=numbers, moved=moved, steps=steps)


def implication_of(headline: str, *, title: str = "", limits: str = "") -> Implication:
    """The words of a headline: those of `IMPLICATIONS`, else the number under its title and no conclusion.

    Args:
        title: What a diagnostic from outside calls it; empty for its name.
        limits: What such a diagnostic says that it cannot tell.
    """
    if headline in IMPLICATIONS:
        return IMPLICATIONS[headline]
    named = title or headline.replace("_", " ")
    fact = named.replace("{", "{{").replace("}", "}}")
    return Implication(f"{capitalised(fact)} is {{value}}", title=named, limits=limits)


def left_out_words(names: Sequence[str]) -> str:
    """A sentence on weights that a diagnostic of layers could not read; empty where there are none."""
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (
        f"Left out: {', '.join(names[:MOST_NAMED])}{more}, which no linear layer or convolution applies in one call of "
        "its own (attention applies its projections itself)."
    )


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


def _of_growth(values: Mapping[str, float]) -> str:
    growth = values.get("gradient_growth", float("nan"))
    if growth != growth:
        return ""
    return f"From the last hidden layer back to the first, gradients are multiplied by {number_words(growth)}"


IMPLICATIONS: dict[str, Implication] = {
    "weight_deviation": Implication(
        "Training moved the weights by {value} from where it started (over the root of the number of examples, summed "
        "over layers)",
        alone=lambda value: "they did not move at all" if value == 0 else "",
        further=_of_layers,
        title="weight deviation from the start",
        limits=(
            "The distance depends on learning rate, weight decay and training time as well as on the tasks, so it "
            "compares runs of one recipe; unit permutations can make two equal functions look distant."
        ),
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
        title="largest Hessian eigenvalue",
        limits=(
            "Eigenvalues change when a ReLU network is rescaled without changing its function, so they compare "
            "networks of one architecture trained alike; flatness alone does not imply generalisation."
        ),
    ),
    "hessian_trace": Implication(
        "The curvatures of the loss in all directions add up to {value}",
        lower="ended where the loss is flatter on the whole than where it began",
        higher="ended where the loss is sharper on the whole than where it began",
        alone=lambda value: "" if value > 0 else "downward curvature outweighs upward curvature, so this is no minimum",
        title="Hessian trace",
        limits=(
            "The trace adds positive and negative curvature, so it can be small between two sharp directions of "
            "opposite sign, and it changes when a ReLU network is rescaled without changing its function."
        ),
    ),
    "hessian_flat_share": Implication(
        "{value} of all directions in the weights are flat (curvature within 1 % of the largest from zero)",
        lower="used up directions that were free where it began",
        higher="left more directions free than there were where it began",
        share=True,
        title="share of flat directions",
        limits=(
            "Single eigenvalues inside the bulk are not resolved, a mass of a few eigenvalues among all parameters is "
            "lost in the noise of the probes, and few steps leave open how many eigenvalues of a smooth spectrum are "
            "below the edge, which the standard error holds."
        ),
    ),
    "landscape_rise": Implication(
        "Moving {moved} raises the loss by {value} on average",
        lower="ended where the loss rises less around the network than where it began",
        higher="ended where the loss rises more around the network than where it began",
        alone=lambda value: "" if value > 0 else "the loss around is lower on average than at the network itself",
        title="rise of the loss around the network",
        limits=(
            "Two random directions show next to nothing of a space of many thousands, and miss sharp valleys that "
            "the eigenvalues show."
        ),
    ),
    "loss_barrier": Implication(
        "On the straight line between the two networks the loss rises {value} above the line between its ends",
        alone=lambda value: "nothing separates them on this line" if value == 0 else "",
        title="loss barrier",
        limits=(
            "A barrier on the straight line does not exclude a curved path without one, nor does it see that two "
            "networks differ by a permutation of units only."
        ),
    ),
    "loss_variation_gradient_step": Implication(
        "Within {steps} along the gradient the loss changes by up to {value}",
        lower="ended where the loss changes less along its gradient than where it began",
        higher="ended where the loss changes more along its gradient than where it began",
        title="loss variation along the gradient",
        limits=(
            "It looks along one direction at one point of training, and compares networks only at the same loss and "
            "step."
        ),
    ),
    "gradient_ratio_spread": Implication(
        "The factors by which back-propagation changes gradients from layer to layer spread by {value} (log10)",
        lower="made them more even",
        higher="made them less even",
        alone=lambda value: "layers learn at paces that differ by more than 10 times" if value >= 1 else "",
        further=_of_growth,
        title="spread of gradient ratios between layers (log10)",
        limits=(
            "Normalisation layers and skip connections between two layers count towards the ratio of those layers, "
            "and examples that are fitted perfectly have next to no gradient to scale."
        ),
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
        title="intra- to inter-class variance",
        limits=(
            "On training data a large network separates anything, so read it on test data; it does not see whether a "
            "linear head could separate classes that overlap in distance."
        ),
    ),
    "feature_label_alignment": Implication(
        "Reading the labels off the features with a linear head costs {value} (squared norm of the head and its scaled "
        "squared error)",
        lower="brought the features closer to the labels",
        higher="moved the features away from the labels",
        title="cost of reading labels off the features",
        limits=(
            "The value grows with the number of examples and depends on the ridge, so compare networks on the same "
            "examples only; it speaks about a linear head on frozen features."
        ),
    ),
    "effective_rank": Implication(
        "The features use about {value} directions",
        lower="gave up directions of the features",
        higher="added directions to the features",
        further=_of_leading,
        title="effective rank of the features",
        limits=(
            "A low rank helps only if the target function lies in the few directions that are left, which this does "
            "not see; with fewer examples than features the rank is bounded by the number of examples."
        ),
    ),
    "cka": Implication(
        "The features agree with those of the network compared with at CKA {value} (1: equal up to rotation and scale)",
        alone=lambda value: (
            "they were kept" if value >= 0.9 else "they were kept in part" if value >= 0.5 else "they were learnt anew"
        ),
        title="CKA with the start",
        limits=(
            "CKA is ruled by the directions of largest variance and can stay near 1 while a small direction that the "
            "task needs is lost."
        ),
    ),
    "unexplained_share": Implication(
        "A linear head on these features misses {value} of the target function",
        lower="added what a linear head on the features of the start misses",
        higher="lost part of what a linear head on the features of the start reads",
        share=True,
        title="share of the target outside the features",
        limits=(
            "With few examples it mixes what the features cannot express with what a head cannot learn from so "
            "little; label noise counts as outside."
        ),
    ),
    "negative_entropy": Implication(
        "A Gaussian fitted to the features has negative entropy {value} nats",
        lower="made the features of these data more varied",
        higher="made the features of these data less varied",
        further=_of_source,
        title="negative entropy of the features",
        limits=(
            "It compares data sets through one backbone only, depends on the scale and width of its features, and "
            "sees no more than their covariance."
        ),
    ),
    "kernel_task_distance": Implication(
        "What a wide network learns on the source leaves {value} of the target labels unexplained (100 %: it knows "
        "nothing)",
        alone=lambda value: f"in this model pre-training {'helps' if value < 1 else 'misleads'}",
        share=True,
        further=_of_kernels,
        title="kernel distance of the tasks",
        limits=(
            "It is about infinitely wide two-layer networks on raw inputs, so it knows nothing of the network at "
            "hand, and pairs source and target classes by their names; where none is the same, by their index, so that "
            "another order of names gives another distance."
        ),
    ),
    "ntk_label_alignment": Implication(
        "The tangent kernel agrees with the target labels at {value} of 1",
        lower="turned it away from these labels",
        higher="turned it towards these labels, which gradient descent would now fit faster",
        further=_of_change,
        title="alignment of the tangent kernel with the labels",
        limits=(
            "It describes training with small steps around the present weights, and the average over outputs hides "
            "classes that behave differently."
        ),
    ),
}
"""The words of every headline."""
