"""Networks with an adapter of PEFT, against the library's own merge where it is installed, and against B A by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from transferscope.errors import MissingDataError, NetworkError
from transferscope.models import NetworkSettings, Pretrained, open_pretrained

pytestmark = pytest.mark.filterwarnings("ignore")

SIZE = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
        "pad_token_id": 0}  # fmt: skip
QUERY = "encoder.layer.0.attention.self.query"


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    """Three texts of 4, 3 and 1 tokens, as a `LabelledSet` has them, and their ids."""
    ids = torch.tensor([[2, 3, 4, 5], [6, 7, 8, -1], [5, -1, -1, -1]])
    return torch.stack([ids, torch.where(ids < 0, -1, 0)], dim=1).int(), ids


def opened(folder: Path) -> Any:
    return open_pretrained(Pretrained(NetworkSettings(f"hf:{folder}")), (2, 4), head="either")


def base(transformers: Any, folder: Path, kind: str = "BertModel") -> Any:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=30, n_embd=16, n_layer=2, n_head=2, pad_token_id=0, bos_token_id=1,
                                     eos_token_id=1) if kind.startswith("GPT2") else transformers.BertConfig(
                                         **SIZE, num_labels=3)  # fmt: skip
    model = getattr(transformers, kind)(config).eval()
    model.save_pretrained(folder)
    return model


def adapter(folder: Path, tensors: dict[str, torch.Tensor], **settings: Any) -> Path:
    folder.mkdir()
    given = {"peft_type": "LORA", "base_model_name_or_path": "../base", "r": 2, "lora_alpha": 6, **settings}
    (folder / "adapter_config.json").write_text(json.dumps(given))
    save_file({f"base_model.model.{name}": tensor for name, tensor in tensors.items()},
              folder / "adapter_model.safetensors")  # fmt: skip
    return folder


def pair(rank: int = 2, n_in: int = 16) -> dict[str, torch.Tensor]:
    draw = torch.Generator().manual_seed(1)
    return {"A": torch.randn(rank, n_in, generator=draw), "B": torch.randn(16, rank, generator=draw)}


@pytest.mark.parametrize("wrapped", ["", "bert."])
def test_an_adapter_is_put_in_whatever_class_it_was_trained_in(wrapped: str, transformers: Any, tmp_path: Path) -> None:
    model = base(transformers, tmp_path / "base")
    change, bias = pair(), torch.ones(16)
    tensors = {f"{wrapped}{QUERY}.lora_{side}.weight": factor for side, factor in change.items()}
    tensors[f"{wrapped}encoder.layer.1.attention.self.key.bias"] = bias
    if wrapped:
        tensors["classifier.weight"] = torch.ones(3, 16)
    network = opened(adapter(tmp_path / "lora", tensors))
    weights = model.state_dict()
    weights[f"{QUERY}.weight"] += 3 * change["B"] @ change["A"]
    weights["encoder.layer.1.attention.self.key.bias"].copy_(bias)
    inputs, ids = texts()
    with torch.no_grad():
        expected = torch.cat([model(input_ids=row[row >= 0][None]).pooler_output for row in ids])
        found = network.network.eval().features(inputs)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    assert network.report.missing == ()
    of_base = opened(tmp_path / "base").network.eval().features(inputs)
    assert (found - of_base).abs().max() > 2e-5


@pytest.mark.parametrize(
    ("kind", "task", "options"),
    [
        ("BertModel", "FEATURE_EXTRACTION", {"target_modules": ["query", "value", "word_embeddings"]}),
        ("BertForSequenceClassification", "SEQ_CLS", {"use_rslora": True, "rank_pattern": {"value": 4}}),
        (
            "BertForMaskedLM",
            None,
            {"target_modules": "all-linear", "alpha_pattern": {"layer.1.attention.self.query": 9}},
        ),
        ("GPT2Model", "FEATURE_EXTRACTION", {"target_modules": ["c_attn"], "fan_in_fan_out": True, "bias": "all"}),
        ("GPT2LMHeadModel", "CAUSAL_LM", {"target_modules": ["c_attn", "wte"]}),
        ("GPT2ForSequenceClassification", "SEQ_CLS", {"target_modules": ["c_attn", "c_proj"]}),
    ],
)
def test_features_are_those_that_peft_merges(
    kind: str, task: str | None, options: dict[str, Any], transformers: Any, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft")
    model = base(transformers, tmp_path / "base", kind)
    changed = peft.get_peft_model(model, peft.LoraConfig(task_type=task, r=2, lora_alpha=6, **options))
    torch.manual_seed(1)
    for name, parameter in changed.named_parameters():
        if parameter.requires_grad:
            parameter.data = torch.randn_like(parameter) / 4
        assert "modules_to_save" not in name or kind.endswith("Classification")
    changed.save_pretrained(tmp_path / "lora")
    settings = json.loads((tmp_path / "lora" / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = str(tmp_path / "base")
    (tmp_path / "lora" / "adapter_config.json").write_text(json.dumps(settings))
    found = opened(tmp_path / "lora")
    inputs, ids = texts()
    merged = changed.merge_and_unload().eval()
    encoder = getattr(merged, merged.base_model_prefix, merged) if found.report.n_outputs == 0 else merged
    rows = []
    with torch.no_grad():
        for row in ids:
            outputs = encoder(input_ids=row[row >= 0][None])
            pooled = getattr(outputs, "logits", getattr(outputs, "pooler_output", None))
            rows.append(outputs.last_hidden_state.mean(dim=1) if pooled is None else pooled)
        network = found.network.eval()
        ours = network(inputs) if found.report.n_outputs else network.features(inputs)
    torch.testing.assert_close(ours, torch.cat(rows), rtol=0, atol=2e-6)
    assert found.report.missing == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_model_name_or_path": "bert-base-uncased"}, "which is not a local model folder"),
        ({"base_model_name_or_path": None}, "which is not a local model folder"),
        ({"peft_type": "IA3"}, "'IA3'; expected LORA"),
        ({"lora_alpha": "six"}, "expected numbers"),
        ({"alpha_pattern": {"(": 1.0}}, "expected a regular expression"),
        (
            {"layer": f"{QUERY}s"},
            "changes encoder.layer.0.attention.self.querys, which .* lacks; give its base model",
        ),
        ({"layer": "embeddings.LayerNorm"}, "a LayerNorm, by A and B"),
        ({"n_in": 15}, r"changes .* \(16, 16\) by A \(2, 15\), B \(16, 2\)"),
        ({"sides": "A"}, "by A; expected A and B"),
    ],
)
def test_an_adapter_that_cannot_be_merged_is_one_sentence(
    changes: dict[str, Any], message: str, transformers: Any, tmp_path: Path
) -> None:
    base(transformers, tmp_path / "base")
    changes = dict(changes)
    layer, sides = changes.pop("layer", QUERY), changes.pop("sides", "AB")
    change = pair(n_in=changes.pop("n_in", 16))
    tensors = {f"{layer}.lora_{side}.weight": change[side] for side in sides}
    with pytest.raises((NetworkError, MissingDataError), match=message) as caught:
        opened(adapter(tmp_path / "lora", tensors, **changes))
    assert "\n" not in str(caught.value)


def test_an_adapter_reads_the_texts_of_its_own_tokenizer_or_its_base(transformers: Any, tmp_path: Path) -> None:
    base(transformers, tmp_path / "base")
    folder = adapter(tmp_path / "lora", {f"{QUERY}.lora_{side}.weight": factor for side, factor in pair().items()})
    (tmp_path / "base" / "tokenizer.json").write_text("{}")
    named = NetworkSettings(f"hf:{folder}").module
    assert named.tokenizer.resolve() == (tmp_path / "base").resolve()  # type: ignore[union-attr]
    (folder / "tokenizer.json").write_text("{}")
    assert NetworkSettings(f"hf:{folder}").module.tokenizer == folder  # type: ignore[union-attr]
    tensors = load_file(folder / "adapter_model.safetensors")
    assert len(tensors) == 2
