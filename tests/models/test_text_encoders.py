"""Text encoders of transformers, tiny ones with random weights, against the model and tokenizer called by hand."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from text_encoders import save_tokenizer
from transferscope import compare, rank
from transferscope.analyses.diagnose.subject import FileQuestion, subject_of
from transferscope.data import load
from transferscope.data.splits import few_shot
from transferscope.data.task import TransferTask
from transferscope.data.texts import longest_text
from transferscope.data.unlabelled import input_form, read_unlabelled
from transferscope.errors import DataError, NetworkError, SettingsError
from transferscope.methods import METHODS, FitOptions
from transferscope.methods.probe_head import best_probe
from transferscope.models import NetworkSettings, Pretrained, adapt, build_network, open_pretrained, reinitialise
from transferscope.settings.data import DataSettings
from transferscope.study.facts import load_data
from transferscope.study.read_alike import check_tokenizer
from transferscope.study.spec import parse_spec
from transferscope.training import TrainingSettings, outputs_of, pixel_scale, scale_of, stream_seed, to_tensors

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = [
    "the", "a", "cat", "dog", "bird", "sat", "ran", "flew", "on", "under", "mat", "tree", "big", "small", "red", "old",
]  # fmt: skip
LONGEST = 12


@pytest.fixture(scope="module")
def folder(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers and a tokenizer with a token for each of the words."""
    made = tmp_path_factory.mktemp("bert")
    save_tokenizer(transformers, WORDS, made)
    torch.manual_seed(0)
    transformers.BertModel(config(transformers), add_pooling_layer=False).save_pretrained(made)
    return made


def config(transformers: Any, **changes: Any) -> Any:
    return transformers.BertConfig(
        vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=16, pad_token_id=0, **changes,
    )  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs that are about one animal, or two: 60 to learn from and 30 to test on."""
    made = tmp_path_factory.mktemp("pairs")
    draw = np.random.default_rng(0)
    for name, n in (("train", 60), ("test", 30)):
        rows = ["first\tsecond\tsame"]
        for i in range(n):
            one, other = draw.choice(["cat", "dog", "bird"], 2, replace=False)
            longer = " ".join(draw.choice(WORDS, draw.integers(1, 5)))
            rows.append(f"the {one} {longer}\ta {one if i % 2 else other} sat\t{'yes' if i % 2 else 'no'}")
        (made / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    return made


def name_of(files: Path, folder: Path | None, more: str = "") -> str:
    tokenizer = "" if folder is None else f"&tokenizer={folder}"
    columns = f"text=first&pair=second&label=same&test={files}/test.tsv"
    return f"text:{files}/train.tsv?{columns}&max_length={LONGEST}{tokenizer}{more}"


def by_hand(transformers: Any, folder: Path, files: Path) -> dict[str, torch.Tensor]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    rows = [line.split("\t") for line in (files / "train.tsv").read_text().splitlines()[1:]]
    return dict(
        tokenizer(
            [row[0] for row in rows], [row[1] for row in rows], padding=True, truncation=True, max_length=LONGEST,
            return_tensors="pt", return_token_type_ids=True,
        )
    )  # fmt: skip


def test_ids_are_those_of_the_tokenizer_itself(transformers: Any, folder: Path, files: Path) -> None:
    train = load(name_of(files, folder)).train
    expected = by_hand(transformers, folder, files)
    width = expected["input_ids"].shape[1]
    there = expected["attention_mask"] > 0
    assert 0 < there.sum() < there.numel()
    assert torch.equal(torch.from_numpy(train.inputs[:, 0, :width] >= 0), there)
    for row, key in enumerate(("input_ids", "token_type_ids")):
        assert torch.equal(torch.from_numpy(train.inputs[:, row, :width])[there].long(), expected[key][there])
    assert (train.inputs[:, :, width:] == -1).all()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    of_texts = sorted(set(range(len(tokenizer))) - set(tokenizer.all_special_ids))
    assert train.vocabulary is not None
    assert [train.vocabulary[i] for i in of_texts] == tokenizer.convert_ids_to_tokens(of_texts)
    assert {train.vocabulary[i] for i in tokenizer.all_special_ids} == {""}


def test_features_are_those_of_the_model_on_padded_texts(transformers: Any, folder: Path, files: Path) -> None:
    train = load(name_of(files, folder)).train
    opened = open_pretrained(Pretrained(NetworkSettings(f"hf:{folder}")), train.input_shape)
    network = opened.network.eval()
    assert (network.n_features, opened.report.missing) == (16, ())
    assert [name.removeprefix("module.") for name in network.named_blocks()] == [
        "embeddings", "encoder.layer.0", "encoder.layer.1",
    ]  # fmt: skip
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    given = by_hand(transformers, folder, files)
    with torch.no_grad():
        hidden = model(**given).last_hidden_state.double()
    weights = given["attention_mask"][..., None].double()
    expected = (hidden * weights).sum(1) / weights.sum(1)
    tensors = to_tensors(train, scale_of(network, train))
    found = outputs_of(network.features, tensors)
    torch.testing.assert_close(found.double(), expected, rtol=0, atol=1e-6)
    with torch.no_grad():  # alone, cut to its own length; and padded to the full one
        alone = torch.cat([network.features(tensors.batch(torch.tensor([i])).inputs) for i in range(len(train))])
        padded = network.features(torch.from_numpy(train.inputs))
    torch.testing.assert_close(alone, found, rtol=0, atol=1e-6)
    torch.testing.assert_close(padded, found, rtol=0, atol=1e-6)


def test_two_texts_that_are_read_apart_are_compared(transformers: Any, folder: Path, files: Path) -> None:
    train = load(name_of(files, folder, "&pairs=apart")).train
    network = open_pretrained(Pretrained(NetworkSettings(f"hf:{folder}")), train.input_shape).network.eval()
    halves = [outputs_of(network.features, to_tensors(one, scale_of(network, one))) for one in (
        load(name_of(files, folder).replace("text=first&pair=second", f"text={name}")).train
        for name in ("first", "second")
    )]  # fmt: skip
    found = outputs_of(network.features, to_tensors(train, scale_of(network, train)))
    expected = torch.cat([(halves[0] - halves[1]).abs(), halves[0] * halves[1]], dim=1)
    assert network.n_features == 32
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    read: list[int] = []
    (encoder,) = (module for module in network.modules() if isinstance(module, transformers.BertModel))
    encoder.register_forward_pre_hook(lambda _, args, given: read.append(given["input_ids"].shape[1]), with_kwargs=True)
    assert train.inputs.shape[2] == LONGEST > 5  # [CLS] a cat sat [SEP] is the second text of all
    with torch.no_grad():
        network.features(torch.from_numpy(train.inputs))
    assert read == [(train.inputs[:, row] >= 0).sum(axis=1).max() for row in (0, 2)] == [8, 5]


@pytest.mark.parametrize(("mode", "pooling"), [("cls_token", "first"), ("max_tokens", "max"), ("mean_tokens", "mean")])
def test_the_pooling_is_that_of_the_folder(
    mode: str, pooling: str, transformers: Any, folder: Path, files: Path, tmp_path: Path
) -> None:
    sentence = tmp_path / "sentence"
    shutil.copytree(folder, sentence)
    model = transformers.BertModel(config(transformers)).eval()  # with a pooling layer, which is not used
    model.save_pretrained(sentence)
    (sentence / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{name}": name == mode for name in ("cls_token", "max_tokens", "mean_tokens")}
    (sentence / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **modes}))
    train = load(name_of(files, folder)).train
    network = open_pretrained(Pretrained(NetworkSettings(f"hf:{sentence}")), train.input_shape).network.eval()
    given = by_hand(transformers, folder, files)
    there = given["attention_mask"][..., None] > 0
    with torch.no_grad():
        hidden = model(**given).last_hidden_state
    expected = {
        "first": hidden[:, 0],
        "max": hidden.masked_fill(~there, -torch.inf).amax(1),
        "mean": (hidden * there).sum(1) / there.sum(1),
    }
    found = outputs_of(network.features, to_tensors(train, scale_of(network, train)))
    torch.testing.assert_close(found, expected[pooling], rtol=0, atol=1e-6)


def test_a_classifier_keeps_its_head_and_a_model_of_tokens_gives_its_encoder(
    transformers: Any, folder: Path, files: Path, tmp_path: Path
) -> None:
    train = load(name_of(files, folder)).train
    given = by_hand(transformers, folder, files)
    torch.manual_seed(1)
    classifier = transformers.BertForSequenceClassification(config(transformers, num_labels=3)).eval()
    masked = transformers.BertForMaskedLM(config(transformers)).eval()
    for name, model in (("classifier", classifier), ("masked", masked)):
        model.save_pretrained(tmp_path / name)
    opened = open_pretrained(Pretrained(NetworkSettings(f"hf:{tmp_path}/classifier")), train.input_shape, head="either")
    tensors = to_tensors(train, scale_of(opened.network, train))
    with torch.no_grad():
        expected = classifier(**given).logits
        torch.testing.assert_close(outputs_of(opened.network, tensors), expected, rtol=0, atol=1e-6)
        hidden = masked.bert(**given).last_hidden_state
    assert opened.report.n_outputs == 3
    torch.testing.assert_close(
        outputs_of(adapt(classifier, input_shape=train.input_shape), tensors), expected, rtol=0, atol=1e-6
    )
    encoder = open_pretrained(Pretrained(NetworkSettings(f"hf:{tmp_path}/masked")), train.input_shape)
    weights = given["attention_mask"][..., None]
    torch.testing.assert_close(
        outputs_of(encoder.network.features, tensors), (hidden * weights).sum(1) / weights.sum(1), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("kind", ["GPT2", "Llama", "Qwen2"])
def test_a_decoder_with_a_token_of_padding_keeps_its_head(kind: str, transformers: Any, tmp_path: Path) -> None:
    """Each text alone through the library's class for classification, and beside longer ones here."""
    small = {"n_embd": 16, "n_layer": 2, "n_head": 2}
    if kind != "GPT2":
        small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
        small["num_key_value_heads"] = 2
    torch.manual_seed(0)
    tokens = {"vocab_size": 30, "num_labels": 3, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    settings = getattr(transformers, f"{kind}Config")(**small, **tokens)
    model = getattr(transformers, f"{kind}ForSequenceClassification")(settings).eval()
    model.save_pretrained(tmp_path)
    ids = torch.tensor([[2, 3, 4, 5], [6, 7, -1, -1], [5, -1, -1, -1]])
    opened = open_pretrained(Pretrained(NetworkSettings(f"hf:{tmp_path}")), (2, 4), head="either")
    with torch.no_grad():
        expected = torch.cat([model(input_ids=row[row >= 0][None]).logits for row in ids])
        found = opened.network.eval()(torch.stack([ids, torch.where(ids < 0, -1, 0)], dim=1).int())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert opened.report.n_outputs == 3
    model.config.pad_token_id = None
    model.save_pretrained(tmp_path)
    with pytest.raises(NetworkError, match=r"set pad_token_id in config\.json"):
        open_pretrained(Pretrained(NetworkSettings(f"hf:{tmp_path}")), (2, 4))


def test_scratch_draws_the_weights_again(folder: Path, files: Path) -> None:
    train = load(name_of(files, folder)).train
    settings = NetworkSettings(f"hf:{folder}")
    opened = open_pretrained(Pretrained(settings), train.input_shape, n_outputs=2).network
    fresh, drawn = build_network(settings, train.input_shape, 2, seed=2), reinitialise(opened, seed=1)
    key = "features.module.encoder.layer.0.attention.self.query.weight"
    values = [one.state_dict()[key] for one in (opened, fresh, drawn)]
    assert not any(torch.equal(values[i], values[j]) for i, j in ((0, 1), (0, 2), (1, 2)))


def test_joint_training_reads_batches_of_different_lengths(folder: Path, files: Path) -> None:
    data = load(name_of(files, folder))
    network = open_pretrained(Pretrained(NetworkSettings(f"hf:{folder}")), data.train.input_shape, n_outputs=2).network
    options = FitOptions(TrainingSettings(steps=6, batch_size=2, lr=0.01), seed=0, device="cpu")
    fitted = METHODS["joint"]().fit(TransferTask(data, data), network, options)
    assert fitted.status == "max_steps"


def test_a_comparison_takes_the_tokenizer_of_its_network_and_predicts(
    transformers: Any, folder: Path, files: Path, tmp_path: Path
) -> None:
    result = compare(
        name_of(files, None),
        f"hf:{folder}",
        labels=[40],
        methods=["linear-probe", "fine-tune", "raw"],
        seeds=2,
        training={"steps": 4, "lr": 0.01},
        engine={"workers": 0},
        tuning=False,
        folder=tmp_path,
    )
    assert f"tokenizer={folder}" in result.study.read_text()
    frame = result.table().set_index("method")
    assert set(frame.index) == {"linear-probe", "fine-tune", "raw"}
    data = load(name_of(files, folder))
    model = transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).eval()
    found = []
    for seed in range(2):  # the probe by hand, on features of the model itself
        few = few_shot(data.train, 40, seed=stream_seed(seed, "subset"))
        features = []
        for part in (few, data.test):
            ids, texts = torch.from_numpy(part.inputs).long().unbind(1)
            mask = (ids >= 0).long()
            with torch.no_grad():
                given = {"input_ids": ids.clamp(min=0), "attention_mask": mask, "token_type_ids": texts.clamp(min=0)}
                hidden = model(**given).last_hidden_state
            features.append((hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True))
        examples, folds = to_tensors(few, pixel_scale(few)), stream_seed(stream_seed(seed, "fit"), "solver")
        head = best_probe(features[0], examples, few, TrainingSettings(steps=4), seed=folds, standardises=True)[0]
        found.append(float((head(features[1]).argmax(1).numpy() == data.test.labels).mean()))
    assert frame["mean"]["linear-probe"] == pytest.approx(np.mean(found), abs=1e-9)


def test_new_texts_are_read_as_those_of_the_study(folder: Path, files: Path, tmp_path: Path) -> None:
    name = name_of(files, folder)
    data = load(name)
    form = input_form(name, (), data)
    found = read_unlabelled(f"text:{files}/test.tsv", form)
    assert np.array_equal(read_unlabelled(f"{files}/test.tsv", form).inputs, found.inputs)  # the study had texts
    assert np.array_equal(found.inputs, data.test.inputs)
    other = tmp_path / "new.jsonl"
    rows = [line.split("\t")[:2] for line in (files / "test.tsv").read_text().splitlines()[1:]]
    other.write_text("\n".join(json.dumps({"a": one, "b": two}) for one, two in rows))
    assert np.array_equal(read_unlabelled(f"text:{other}?text=a&pair=b", form).inputs, data.test.inputs)
    with pytest.raises(DataError, match="was trained on digits"):
        read_unlabelled(f"text:{other}?text=a", input_form("digits", (), load("digits")))


def test_files_are_ranked_and_diagnosed_in_the_tokens_of_their_network(
    transformers: Any, folder: Path, files: Path, tmp_path: Path
) -> None:
    ranked = rank(name_of(files, None), f"hf:{folder}", labels=40, seeds=1, scores=["logme"])
    said = rank(name_of(files, folder), f"hf:{folder}", labels=40, seeds=1, scores=["logme"])
    assert ranked.table().equals(said.table())
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    torch.manual_seed(1)
    transformers.BertForSequenceClassification(config(transformers, num_labels=2)).save_pretrained(other)
    question = FileQuestion(
        checkpoint=other / "model.safetensors",
        data=DataSettings(name_of(files, None)),
        network=NetworkSettings(f"hf:{other}"),
        device="cpu",
    )
    found = subject_of(question)
    data = load(name_of(files, other)).train
    assert found.subject.n_train == len(data)
    text = (other / "tokenizer.json").read_text().replace('"cat"', '"lion"')
    (other / "tokenizer.json").write_text(text)
    subject_of(question)  # in the new tokens
    with pytest.raises(DataError, match=r"tokenised for another network than hf:.*other"):
        rank(name_of(files, None), [f"hf:{folder}", f"hf:{other}"], labels=40, seeds=1)
    with pytest.raises(DataError, match=r"tokenised for another network than hf:.*other"):
        subject_of(replace(question, data=DataSettings(name_of(files, folder))))


def test_what_does_not_belong_together_is_refused(transformers: Any, folder: Path, files: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    shutil.copytree(folder, small)
    (small / "tokenizer.json").unlink()
    narrow = config(transformers)
    narrow.vocab_size = 8
    transformers.BertModel(narrow, add_pooling_layer=False).save_pretrained(small)

    def study(network: str, data: str) -> None:
        tables = {"name": "s", "target": {"data": data}, "sources": {"net": {"network": network}},
                  "network": {"name": network}, "training": {"steps": 1}, "methods": {"linear-probe": {}}}  # fmt: skip
        load_data(parse_spec(tables))

    with pytest.raises(DataError, match=r"the token \d+, but the network knows 8 tokens"):
        study(f"hf:{small}", name_of(files, folder))
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    text = (other / "tokenizer.json").read_text().replace('"cat"', '"lion"')
    (other / "tokenizer.json").write_text(text)
    with pytest.raises(DataError, match=r"tokenised for another network than hf:.*other"):
        study(f"hf:{other}", name_of(files, folder))
    with pytest.raises(SettingsError, match=r"has no tokenizer; add &tokenizer=FOLDER"):
        study(f"hf:{small}", name_of(files, None))
    with pytest.raises(NetworkError, match="reads texts, but the inputs have shape"):
        study(f"hf:{folder}", "digits")
    study(f"hf:{folder}", name_of(files, None).replace(f"max_length={LONGEST}", "max_length=20"))
    study(f"hf:{folder}", name_of(files, None))


@pytest.mark.parametrize("kind", ["Bert", "Roberta", "MPNet", "DistilBert", "XLMRoberta", "Camembert", "GPT2", "Esm"])
def test_the_most_tokens_of_a_model_are_those_that_it_runs_on(kind: str, transformers: Any, tmp_path: Path) -> None:
    sizes = {
        "GPT2": {"n_positions": 20, "n_embd": 16, "n_layer": 1, "n_head": 2},
        "DistilBert": {"max_position_embeddings": 20, "dim": 16, "n_layers": 1, "n_heads": 2, "hidden_dim": 16},
    }
    usual = {"max_position_embeddings": 20, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    more = {"Esm": {"position_embedding_type": "absolute", "pad_token_id": 1}}.get(kind, {})
    model = getattr(transformers, f"{kind}Model")(
        getattr(transformers, f"{kind}Config")(
            vocab_size=30, **sizes.get(kind, {**usual, "intermediate_size": 16, **more})
        )
    )
    model.save_pretrained(tmp_path)
    longest, _ = longest_text(tmp_path)
    assert longest == (18 if kind in ("Roberta", "MPNet", "XLMRoberta", "Camembert", "Esm") else 20)

    def run(n: int) -> None:
        ids = torch.full((1, n), 5)
        model.eval()(input_ids=ids, attention_mask=torch.ones_like(ids))

    run(longest)
    with pytest.raises((IndexError, RuntimeError)):
        run(longest + 1)


@pytest.mark.parametrize(
    ("file", "field", "n"),
    [
        ("config.json", "max_position_embeddings", 16),
        ("tokenizer_config.json", "model_max_length", 9),
        ("sentence_bert_config.json", "max_seq_length", 7),
    ],
)
def test_the_smallest_of_three_lengths_counts_and_is_said_once(
    file: str, field: str, n: int, folder: Path, files: Path, tmp_path: Path
) -> None:
    copy = shutil.copytree(folder, tmp_path / "model")
    lengths = {"config.json": 16, "tokenizer_config.json": 30, "sentence_bert_config.json": 40}
    for name, usual in {**lengths, file: n}.items():
        read = json.loads((copy / name).read_text()) if (copy / name).exists() else {}
        key = {"c": "max_position_embeddings", "t": "model_max_length", "s": "max_seq_length"}[name[0]]
        (copy / name).write_text(json.dumps({**read, key: usual}))
    long = tmp_path / "long.csv"
    long.write_text(
        "text,label\n" + "".join(f"{'the cat ' * (2 if i < 30 else 20)},{'ab'[i % 2]}\n" for i in range(60))
    )
    data = load(f"text:{long}?text=text&label=label&tokenizer={copy}")
    assert data.train.input_shape == (2, n)
    assert data.provenance["understood"].count(f"30 texts were cut to {n} tokens") == 1  # the others have six
    assert f"{field} in {file}" in data.provenance["understood"]
    opened = open_pretrained(Pretrained(NetworkSettings(f"hf:{copy}")), data.train.input_shape).network
    assert torch.isfinite(opened.eval()(to_tensors(data.train, pixel_scale(data.train)).inputs[:2])).all()
    bare = shutil.copytree(copy, tmp_path / "bare")
    (bare / "tokenizer.json").unlink()
    whole = load(f"text:{long}?text=text&label=label&tokenizer={folder}&max_length=16")
    if n < 16:
        with pytest.raises(
            DataError, match=f"padded to 16 tokens, but .* accepts at most {n} .{field}.*max_length={n}$"
        ):
            check_tokenizer(whole, [NetworkSettings(f"hf:{bare}")])
    else:
        check_tokenizer(whole, [NetworkSettings(f"hf:{bare}")])
