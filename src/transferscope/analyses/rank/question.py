"""`rank`: score pretrained networks on a few labelled target examples, without training."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from transferscope.analyses.finished_study import StudyNetworks, finished_cells, pretrained_of, target_data
from transferscope.analyses.kept_document import RANKING
from transferscope.analyses.rank.candidates import (
    CandidateNetwork,
    candidate_of,
    labelled_target,
    least_labels,
    random_candidate,
)
from transferscope.analyses.rank.hindsight import SizeCases, hindsight_of, results_of
from transferscope.analyses.rank.ranking import KEPT, RANDOM, StudyRanking
from transferscope.analyses.rank.result import RankingResult
from transferscope.analyses.rank.scoring import Chosen, Ranked, Subset, choose_scores, rank_subsets
from transferscope.arguments import checks_arguments, seen
from transferscope.consent import reads_code
from transferscope.data.load import seen_from
from transferscope.data.memory import DATA_WORDS, Data, InMemory, Task, is_data, write_in_memory
from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import DataError, SettingsError, out_of_range, refuse_unused
from transferscope.models import NetworkSettings, Pretrained, open_pretrained
from transferscope.models.build import is_network_name
from transferscope.models.pretrained import as_file_says
from transferscope.records import FinishedRuns
from transferscope.settings.data import DataSettings
from transferscope.settings.questions import RankQuestion
from transferscope.store import Store, StoredCell, without_password
from transferscope.study.cell import code_as_planned, code_of
from transferscope.study.context import no_progress
from transferscope.study.facts import shape_as_read
from transferscope.study.frames import called_in
from transferscope.study.places import keep_for_report, one_study, open_existing
from transferscope.study.read_alike import load_for
from transferscope.training import choose_device, stream_seed
from transferscope.wording import method_words


@checks_arguments
@reads_code
def rank(
    target: Data | DataSettings,
    networks: str | Path | Pretrained | Sequence[str | Path | Pretrained] | None = None,
    *,
    network: str | NetworkSettings = "lenet",
    labels: int | None = RankQuestion.labels,
    seeds: int = RankQuestion.seeds,
    scores: Sequence[str] = RankQuestion.scores,
    method: str | None = RankQuestion.method,
    study: str | None = None,
    device: str = RankQuestion.device,
    trust_code: bool = False,
    label: str | None = None,
    task: Task | None = None,
    test_share: float | None = None,
    group: Data = None,
    time: Data = None,
    on_progress: Callable[[int, int], None] = no_progress,
) -> RankingResult:
    """Rank pretrained networks as sources, without training on the target.

    All networks see the same labelled training examples; random features are scored for comparison. For a finished
    study, given alone, its networks and few-shot subsets are used, and the regret of choosing by each score is computed
    from the actual results. The ranking is stored with the study and shown in its report.

    Args:
        target: The target by name, such as "usps" or "npz:PATH", with its transformations as a `DataSettings`, or data
            in memory as for `compare`. Only its training part is read. Or alone, a finished study: its file, or the
            path or URL of its store.
        networks: Files of weights (safetensors, or state dicts of torch) of one architecture; names of pretrained
            networks ("hf:FOLDER", "timm:NAME", "torchvision:NAME", "package.module:factory", "file.py:factory"); or
            `Pretrained` networks, each with its own input. A single one is compared with random features.
        network: Architecture of the files; None for files written by a study, which contain it.
        study: Name of the study if the store holds several.
        trust_code: With a study: whether to run code that only the store names, not your study file.
        label: The label column of a target that is a data frame, or a data set of the package datasets; this and the
            next two as in `compare`.
        task: Task of a target in memory.
        test_share: Share of a target in memory that is held out as its test part, and not read.
        group: Group of each example of a target in memory; this and `time` as in `compare`.
        on_progress: Called with (scores done, total).

    Further arguments are those of `settings.questions.RankQuestion`; labels and seeds apply to networks without a
    study.

    Raises:
        TransferscopeError: Files, data, names or settings are invalid, or the study is not finished.

    Example:
        >>> result = rank("digits", ["mnist.safetensors", "fashion.safetensors"], labels=100)  # doctest: +SKIP
        >>> print(result.verdict)  # doctest: +SKIP
    """
    question = RankQuestion(labels=labels, seeds=seeds, scores=tuple(scores), method=method, device=device)
    if not is_data(target) and not isinstance(target, DataSettings):
        raise SettingsError(f"rank(target, networks): target is given as {seen(target)}; expected {DATA_WORDS}")
    reading = InMemory(label, task, test_share, group, time)
    reading.check_used([target])
    if networks is not None:
        refuse_unused({"method": method is not None, "study": study is not None}, "networks are rated without a study")
        settings = network if isinstance(network, NetworkSettings) else NetworkSettings(network)
        given = [networks] if isinstance(networks, str | Path | Pretrained) else networks
        named = bool(given) and all(
            isinstance(one, Pretrained) or (isinstance(one, str) and is_network_name(one)) for one in given
        )
        architecture = (settings.name, settings.widths) != ("lenet", None)
        refuse_unused({"network": named and architecture}, "every network says its own architecture")
        opened = [one if isinstance(one, Pretrained) else _named(one, settings) for one in given]
        with TemporaryDirectory() as folder:
            data, name = target, "target"
            if isinstance(target, str | Path):
                data = DataSettings(name := str(target))
            elif isinstance(target, DataSettings | Dataset):
                name = target.name if isinstance(target, Dataset) else target.data
            else:
                data = DataSettings(seen_from(write_in_memory(target, Path(folder), name, reading), Path(folder)))
            ranked = _rank_files(name, opened, data, question, on_progress=on_progress)
        return RankingResult(StudyRanking((ranked.ranking,), None, FinishedRuns.of(())), name)
    if not isinstance(target, str | Path):
        raise SettingsError("rank was given no networks; give them after the target, as in rank(target, networks)")
    refuse_unused(
        {
            "network": network not in ("lenet", NetworkSettings("lenet")),
            "labels": labels not in (None, RankQuestion.labels),
            "seeds": seeds != RankQuestion.seeds,
        },
        f"{without_password(str(target))} says which networks, labels and seeds to use",
    )
    address = str(target)
    with open_existing(address) as store:
        name = one_study(store, address, study)
        cells = finished_cells(store, name, before="its sources are ranked")
        with code_as_planned(code_of((stored.cell for stored in cells), "network")):
            rankings = _rank_study(store, name, cells, question, on_progress=on_progress)
        kept = keep_for_report(
            store, address, lambda: store.put_study_document(name, RANKING, KEPT.to_document(rankings))
        )
    return RankingResult(rankings, name, kept)


def _named(network: str | Path, settings: NetworkSettings) -> Pretrained:
    """Return the network of a file of weights, or of a name, with head and input from the settings."""
    if isinstance(network, str) and is_network_name(network):
        return Pretrained(NetworkSettings(network, head=settings.head, input=settings.input))
    return Pretrained(as_file_says(settings, Path(network)), Path(network))


def _rank_files(
    target: str,
    networks: Sequence[Pretrained],
    data: DataSettings | Dataset,
    question: RankQuestion,
    *,
    on_progress: Callable[[int, int], None],
) -> Ranked:
    """Rank networks from files on subsets of the target's training examples, without its test part."""
    files = [one.name for one in networks]
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        raise SettingsError(f"{twice[0]} is given twice; give each file once")
    if not files:
        raise SettingsError("there is no pretrained network; give at least one to rank")
    dataset = load_for(data, networks)
    train = dataset.train
    chosen, place = choose_scores(question.scores, kind=train.kind), choose_device(question.device)
    n_target, least = question.labels or len(train), least_labels(train)
    if n_target > len(train):
        raise out_of_range("labels", n_target, f"at most {len(train)}, the training examples of {target}", DataError)
    if n_target < least:
        why = "2 for each class" if train.kind == "classification" else "to rank with"
        raise out_of_range("labels", n_target, f"at least {least} ({why})", DataError)
    short = [Path(one.name).name if one.weights is not None else one.name for one in networks]
    names = short if len(set(short)) == len(short) else files
    opened = tuple(
        candidate_of(
            name,
            open_pretrained(one, shape_as_read(dataset, one.network), head="either"),
            of_classes=True,
            device=place,
        )
        for name, one in zip(names, networks, strict=True)
    )
    settings = networks[0].network
    sizes = {n_target: range(1 if n_target == len(train) else question.seeds)}
    (ranked,) = _rank_sizes(
        names, lambda _: opened, sizes, dataset, settings, chosen, place, networks_vary=False, on_progress=on_progress
    )
    return ranked


def _rank_study(
    store: Store,
    study: str,
    cells: Sequence[StoredCell],
    question: RankQuestion,
    *,
    on_progress: Callable[[int, int], None],
) -> StudyRanking:
    """Rank the networks of a study on the few-shot subsets of its cells, without training."""
    pretrained = pretrained_of(
        cells,
        store.files,
        none=f"{study} has no pretrained networks that a finished method starts from; give it a source, and a method "
        "that starts from a pretrained network, such as [methods.fine-tune], and run it again",
    )
    results = results_of(cells, store.records(study), pretrained, against=question.method)
    dataset, names = target_data(pretrained.recipe), tuple(pretrained.names.values())
    train = dataset.train
    chosen, place = choose_scores(question.scores, kind=train.kind), choose_device(question.device)
    settings = pretrained.recipe.network
    planned = store.study(study).facts
    facts = planned.get("sources", {})

    def opened(seed: int) -> tuple[CandidateNetwork, ...]:
        return tuple(
            candidate_of(
                name,
                pretrained.open(origin, seed, dataset),
                of_classes=facts.get(origin.source, {}).get("kind", "classification") == "classification",
                device=place,
            )
            for origin, name in pretrained.names.items()
        )

    sizes = _seeds_by_size(study, cells, pretrained, train)
    ranked = _rank_sizes(
        names, opened, sizes, dataset, settings, chosen, place, networks_vary=True, on_progress=on_progress
    )
    hindsight = None
    if results is not None and len(names) > 1:
        cases = []
        for one in ranked:
            n, seeds = one.ranking.n_target, one.ranking.seeds
            gave = [[results.values.get((origin, n, seed), np.nan) for origin in pretrained.names] for seed in seeds]
            values = {name: scores[:, : len(names)] for name, scores in one.values.items()}  # no random features
            cases.append(SizeCases(n, seeds, np.array(gave, dtype=np.float64), values))
        hindsight = hindsight_of(method_words(results.method, called_in(planned)), results.measure, names, cases)
    runs = FinishedRuns.of(one.cell.key for one in cells if one.cell.role == "method")
    return StudyRanking(tuple(one.ranking for one in ranked), hindsight, runs)


def _seeds_by_size(
    study: str, cells: Sequence[StoredCell], pretrained: StudyNetworks, train: LabelledSet
) -> dict[int, list[int]]:
    """Return the seeds of each number of labels that is large enough, without seeds of failed pretraining."""
    complete = set.intersection(*(set(files) for files in pretrained.files.values()))
    if not complete:
        names = ", ".join(pretrained.names.values())
        raise DataError(f"no seed of {study} has a network of every candidate ({names}); repeat its failed runs")
    seeds: dict[int, set[int]] = {}
    for stored in cells:
        labels = stored.cell.labels
        if stored.cell.role == "method" and labels["seed"] in complete:
            seeds.setdefault(int(str(labels["n_target"])), set()).add(int(str(labels["seed"])))
    least = least_labels(train)
    if max(seeds) < least:
        raise out_of_range(f"labels of {study}", max(seeds), f"at least {least} to rank with", DataError)
    return {n: sorted(seeds[n]) for n in sorted(seeds) if n >= least}


def _rank_sizes(
    names: Sequence[str],
    opened: Callable[[int], tuple[CandidateNetwork, ...]],
    sizes: Mapping[int, Sequence[int]],
    target: Dataset,
    settings: NetworkSettings,
    chosen: Chosen,
    device: torch.device,
    *,
    networks_vary: bool,
    on_progress: Callable[[int, int], None],
) -> list[Ranked]:
    """Return one ranking per number of labels; `networks_vary` if each seed has its own candidates."""
    train, shape = target.train, shape_as_read(target, settings)
    n_values = sum(map(len, sizes.values())) * (1 + len(names)) * len(chosen.scores)
    n_done = 0

    def on_score() -> None:
        nonlocal n_done
        n_done += 1
        on_progress(n_done, n_values)

    def subset(seed: int, n_target: int) -> Subset:
        own = opened(seed)
        n_classes = max((one.n_source_classes for one in own if one.n_source_classes is not None), default=None)
        untrained = random_candidate(
            settings, shape, n_classes=n_classes, seed=stream_seed(seed, "network"), device=device
        )
        drawn = few_shot(train, n_target, seed=stream_seed(seed, "subset"))
        return Subset(seed, labelled_target(drawn, device), (*own, untrained))

    on_progress(0, n_values)
    return [
        rank_subsets(
            (*names, RANDOM),
            (subset(seed, n_target) for seed in seeds),
            chosen,
            n_target=n_target,
            n_pool=len(train),
            networks_vary=networks_vary,
            on_score=on_score,
        )
        for n_target, seeds in sizes.items()
    ]
