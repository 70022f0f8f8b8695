"""Every field of every file of a folder, set to something unusual, against the library that the folder belongs to."""

import json
import re
import shutil
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from text_encoders import save_tokenizer
from transferscope.data import load
from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms
from transferscope.errors import TransferscopeError
from transferscope.models import NetworkSettings, Pretrained, input_of, open_pretrained
from transferscope.models.fields import FIELDS, treatment_of
from transferscope.models.hubs.huggingface import HuggingFace
from transferscope.models.texts import AFTER
from transferscope.training import scale_of, to_tensors

pytestmark = pytest.mark.filterwarnings("ignore")

WORDS = [
    "the", "a", "cat", "dog", "bird", "Cat", "sat", "ran", "flew", "on", "under", "mat", "tree", "big", "small", "red",
    "old", "query",
]  # fmt: skip
TEXTS = [
    "the Cat sat on the big old mat", "a DOG ran", "the bird flew under a tree on the small red mat", "red", "old query"
]  # fmt: skip
SIDE = 16


@pytest.fixture(scope="module")
def texts(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sentence-transformers: a BERT, the mean of its tokens, a layer with tanh, and rows of length 1."""
    made = tmp_path_factory.mktemp("texts")
    save_tokenizer(transformers, WORDS, made)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=5 + len(WORDS), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, pad_token_id=0, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(made)
    kinds = ("Transformer", "Pooling", "Dense", "Normalize", "Dropout")
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    dense = {"in_features": 16, "out_features": 7, "bias": True, "activation_function": "torch.nn.modules.Tanh"}
    layer = nn.Linear(16, 7)
    (made / "1_Pooling").mkdir()
    (made / "2_Dense").mkdir()
    (made / "4_Dropout").mkdir()
    write(made, "4_Dropout/config.json", {"dropout": 0.1})
    write(made, "modules.json", modules)
    write(made, "1_Pooling/config.json", {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True})
    write(made, "2_Dense/config.json", dense)
    write(made, "sentence_bert_config.json", {"max_seq_length": 9, "do_lower_case": False})
    write(made, "config_sentence_transformers.json", {"prompts": {"q": "query the "}, "default_prompt_name": None})
    save_file({f"linear.{name}": t for name, t in layer.state_dict().items()}, made / "2_Dense" / "model.safetensors")
    (made / "texts.csv").write_text("text,label\n" + "".join(f"{t},{'ab'[i % 2]}\n" for i, t in enumerate(TEXTS * 4)))
    return made


@pytest.fixture(scope="module")
def images(transformers: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small CLIP image tower whose last normalisation matters, and its image processor."""
    made = tmp_path_factory.mktemp("images")
    torch.manual_seed(0)
    config = transformers.CLIPVisionConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, image_size=SIDE, patch_size=8,
        projection_dim=6,
    )  # fmt: skip
    model = transformers.CLIPVisionModel(config)
    for name, parameter in model.named_parameters():
        if "layernorm" in name or "layrnorm" in name:
            parameter.data = torch.randn_like(parameter)
    model.save_pretrained(made)
    processor = {
        "image_processor_type": "CLIPImageProcessor", "do_resize": True, "size": {"shortest_edge": 20}, "resample": 3,
        "do_center_crop": True, "crop_size": {"height": SIDE, "width": SIDE}, "do_rescale": True,
        "rescale_factor": 1 / 255, "do_normalize": True, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.25, 0.3],
    }  # fmt: skip
    write(made, "preprocessor_config.json", processor)
    return made


@pytest.fixture(scope="module")
def adapter(images: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image tower in a folder `base`, and beside it a low-rank change of one of its layers, as PEFT keeps it."""
    made = tmp_path_factory.mktemp("adapter")
    shutil.copytree(images, made / "base")
    write(made, ADAPTER, {"peft_type": "LORA", "base_model_name_or_path": "base", "r": 2, "lora_alpha": 6})
    factors = {"A": torch.randn(2, 16), "B": torch.randn(16, 2)}
    name = f"base_model.model.{CHANGED}"
    save_file({f"{name}.lora_{side}.weight": one for side, one in factors.items()}, made / "adapter_model.safetensors")
    return made


def write(folder: Path, file: str, found: object) -> None:
    (folder / file).write_text(json.dumps(found))


def read(folder: Path, file: str) -> Any:
    return json.loads((folder / file).read_text()) if (folder / file).is_file() else {}


def ours(folder: Path) -> Tensor:
    """What transferscope makes of the folder's texts, or of three images."""
    settings = NetworkSettings(f"hf:{folder}")
    if (folder / "texts.csv").is_file():
        data = load(f"text:{folder}/texts.csv?text=text&label=label&max_length=32&tokenizer={folder}")
        both = np.concatenate([data.train.inputs, data.test.inputs])
        part = LabelledSet(np.unique(both, axis=0), np.zeros(len(np.unique(both, axis=0)), dtype=np.int64), ("a",))
    else:
        known = input_of(settings)
        assert known is not None
        raw = LabelledSet(pictures(), np.zeros(3, dtype=np.int64), ("a",))
        part = apply_transforms(Dataset("pictures", raw, raw), known.transforms, seed=0).train
    network = open_pretrained(Pretrained(settings), part.input_shape).network.eval()
    tensors = to_tensors(part, scale_of(network, part))
    with torch.no_grad():
        found: Tensor = network.features(tensors.batch(torch.arange(len(part))).inputs).double()
    return found


def pictures() -> np.ndarray:
    draw = np.random.default_rng(0)
    return draw.integers(0, 256, (3, 3, 29, 29)).astype(np.uint8)


def theirs(transformers: Any, folder: Path) -> Tensor:
    """The same of the library: for texts one after the other, modules by hand as sentence-transformers has them."""
    settings, base = read(folder, ADAPTER), folder / "base" if (folder / ADAPTER).is_file() else folder
    model = transformers.AutoModel.from_pretrained(base, dtype=torch.float32).eval()
    if settings:
        factors = load_file(folder / "adapter_model.safetensors")
        a, b = (factors[f"base_model.model.{CHANGED}.lora_{side}.weight"] for side in "AB")
        alpha = settings.get("alpha_pattern", {}).get("q_proj", settings["lora_alpha"])
        scale = alpha / (2**0.5 if settings.get("use_rslora") else 2)
        model.get_submodule(CHANGED).weight.data += scale * b @ a
        folder = base
    if not (folder / "texts.csv").is_file():
        given = transformers.AutoImageProcessor.from_pretrained(folder, backend="pil")
        pixels = [Image.fromarray(one.transpose(1, 2, 0)) for one in pictures()]
        with torch.no_grad():
            found: Tensor = model(**given(pixels, return_tensors="pt")).pooler_output
        return found.double()
    tokenizer, settings = transformers.AutoTokenizer.from_pretrained(folder), read(folder, "sentence_bert_config.json")
    of_prompts, modules = read(folder, "config_sentence_transformers.json"), read(folder, "modules.json")
    prompt = of_prompts.get("prompts", {}).get(of_prompts.get("default_prompt_name"), "")
    rows = []
    for text in dict.fromkeys(TEXTS):
        wanted = prompt + text
        length = settings.get("max_seq_length") or tokenizer.model_max_length
        given = tokenizer(
            wanted.lower() if settings.get("do_lower_case") else wanted, truncation=True, max_length=length,
            return_tensors="pt",
        )  # fmt: skip
        with torch.no_grad():
            hidden = model(**given).last_hidden_state[0]
        row = hidden[0]
        for place, module in enumerate(modules[1:], start=1):
            kind, settled = module["type"].rpartition(".")[2], read(folder, f"{module['path']}/config.json")
            if kind == "Pooling":
                weights = torch.arange(1, len(hidden) + 1)[:, None]
                ways = {
                    "cls_token": hidden[0], "max_tokens": hidden.amax(0), "mean_tokens": hidden.mean(0),
                    "mean_sqrt_len_tokens": hidden.sum(0) / len(hidden) ** 0.5,
                    "weightedmean_tokens": (hidden * weights).sum(0) / weights.sum(), "lasttoken": hidden[-1],
                }  # fmt: skip
                named = settled.get("pooling_mode", [])
                newer = {"cls": "cls_token", "mean": "mean_tokens", "lasttoken": "lasttoken"}
                chosen = [newer[one] for one in ([named] if isinstance(named, str) else named)]
                row = torch.cat([ways[way] for way in chosen or ways if chosen or settled.get(f"pooling_mode_{way}")])
            elif kind == "Dense":
                own = load_file(folder / module["path"] / "model.safetensors")
                made = nn.functional.linear(row, own["linear.weight"], own.get("linear.bias"))
                row = getattr(nn, settled["activation_function"].rpartition(".")[2])()(made)
            elif kind == "Normalize" and any("Dense" in later["type"] for later in modules[place + 1 :]):
                row = row / row.norm()  # one at the end is left out
        rows.append(row)
    return torch.stack(rows).double()


def as_a_set(rows: Tensor) -> Tensor:
    """Rows in an order of their own: `load` splits and sorts them."""
    return rows[np.lexsort(rows.numpy().round(4).T)]


SENTENCES, DENSE, POOL = "sentence_bert_config.json", "2_Dense/config.json", "1_Pooling/config.json"
PROMPTS, IMAGES = "config_sentence_transformers.json", "preprocessor_config.json"
ADAPTER, CHANGED = "adapter_config.json", "encoder.layers.0.self_attn.q_proj"

CASES: list[tuple[str, str, Any]] = [
    ("config.json", "architectures", ["BertForMaskedLM"]),
    ("config.json", "hidden_act", "relu"),
    ("config.json", "is_decoder", True),
    ("config.json", "id2label", {"0": "x", "1": "y", "2": "z"}),
    ("config.json", "label2id", {"x": 0, "y": 1, "z": 2}),
    ("config.json", "num_labels", 7),
    ("config.json", "problem_type", "multi_label_classification"),
    ("config.json", "quantization_config", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    ("config.json", "compression_config", {"format": "int-quantized"}),
    ("config.json", "auto_map", {"AutoModel": "modeling.Evil"}),
    ("config.json", "adapters", {"adapters": {"a": "lora"}}),
    ("config.json", "torchscript", True),
    *(("config.json", name, "float16") for name in ("dtype", "torch_dtype")),
    *(("config.json", name, "x") for name in ("_name_or_path", "transformers_version", "sentence_transformers")),
    *(("config.json", name, False) for name in ("return_dict", "use_cache")),
    *(("config.json", name, True) for name in ("output_hidden_states", "output_attentions")),
    ("tokenizer_config.json", "tokenizer_class", "BertTokenizer"),
    ("tokenizer_config.json", "truncation_side", "left"),
    ("tokenizer_config.json", "padding_side", "left"),
    ("tokenizer.json", "padding", {"strategy": {"Fixed": 30}, "direction": "Left", "pad_to_multiple_of": None,
                                  "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}),
    ("tokenizer.json", "truncation", {"direction": "Right", "max_length": 3, "strategy": "LongestFirst", "stride": 0}),
    (SENTENCES, "max_seq_length", 5),
    (SENTENCES, "do_lower_case", True),
    (SENTENCES, "unpad_inputs", True),
    (SENTENCES, "transformer_task", "text-generation"),
    (SENTENCES, "modality_config", {"message": {"method": "forward", "method_output_name": "last_hidden_state"}}),
    (SENTENCES, "module_output_name", "sentence_embedding"),
    (SENTENCES, "query_length", 12),
    (PROMPTS, "default_prompt_name", "q"),
    (PROMPTS, "prompts", {"query": "other "}),
    (PROMPTS, "similarity_fn_name", "dot"),
    (PROMPTS, "__version__", {"sentence_transformers": "9"}),
    (PROMPTS, "model_type", "SparseEncoder"),
    (PROMPTS, "truncate_dim", 3),
    *((POOL, f"pooling_mode_{way}", True) for way in ("cls_token", "max_tokens", "mean_tokens", "lasttoken")),
    *((POOL, f"pooling_mode_{way}", True) for way in ("mean_sqrt_len_tokens", "weightedmean_tokens")),
    (POOL, "word_embedding_dimension", 99),
    (POOL, "embedding_dimension", 99),
    (POOL, "include_prompt", False),
    *((POOL, "pooling_mode", way) for way in ("cls", ["lasttoken"])),
    (POOL, "mode", "other"),
    ("4_Dropout/config.json", "dropout", 0.9),
    ("modules.json", "idx", 9),
    ("modules.json", "name", "last"),
    ("modules.json", "kwargs", ["task"]),
    ("modules.json", "type", "sentence_transformers.models.Dropout"),
    ("modules.json", "path", "3_Other"),
    ("modules.json", "other", 3),
    (DENSE, "in_features", 16),
    (DENSE, "out_features", 7),
    (DENSE, "bias", True),
    (DENSE, "activation_function", "torch.nn.modules.activation.ReLU"),
    (DENSE, "module_input_name", "token_embeddings"),
    (DENSE, "module_output_name", "other"),
    (DENSE, "use_residual", True),
    (DENSE, "dropout", 0.5),
    (IMAGES, "do_resize", True),
    (IMAGES, "size", {"shortest_edge": 18}),
    (IMAGES, "size", 24),
    *((IMAGES, "resample", kind) for kind in (1, 2, 3)),
    (IMAGES, "do_center_crop", True),
    (IMAGES, "crop_size", SIDE),
    (IMAGES, "do_rescale", False),
    (IMAGES, "rescale_factor", 1 / 127.5),
    (IMAGES, "do_normalize", False),
    (IMAGES, "image_mean", [0.1, 0.2, 0.3]),
    (IMAGES, "image_std", [0.5, 0.6, 0.7]),
    (IMAGES, "image_processor_type", "BitImageProcessorFast"),
    (IMAGES, "feature_extractor_type", "CLIPFeatureExtractor"),
    *((IMAGES, name, value) for name, value in (("crop_pct", 0.5), ("rescale_offset", False), ("include_top", False))),
    (IMAGES, "do_flip_channel_order", True),
    *((IMAGES, name, 32) for name in ("pad_size", "size_divisor", "size_divisibility")),
    (IMAGES, "do_pad", True),
    *((IMAGES, name, True) for name in ("do_reduce_labels", "reduce_labels", "disable_grouping")),
    (IMAGES, "default_to_square", True),
    (IMAGES, "do_convert_rgb", True),
    *((IMAGES, name, "x") for name in ("processor_class", "backend")),
    (IMAGES, "return_tensors", "np"),
    (IMAGES, "data_format", "channels_first"),
    (IMAGES, "input_data_format", None),
    (IMAGES, "device", "cpu"),
    (IMAGES, "do_color_quantize", True),
    (ADAPTER, "peft_type", "LORA"),
    (ADAPTER, "base_model_name_or_path", "./base"),
    (ADAPTER, "lora_alpha", 1.5),
    (ADAPTER, "alpha_pattern", {"k_proj": 7, "q_proj": 1}),
    (ADAPTER, "use_rslora", True),
    *((ADAPTER, name, 7) for name in ("r", "layers_to_transform", "qalora_group_size")),
    *((ADAPTER, name, True) for name in ("fan_in_fan_out", "inference_mode", "ensure_weight_tying")),
    *((ADAPTER, name, "x") for name in ("bias", "task_type", "revision", "peft_version", "megatron_core")),
    *((ADAPTER, name, ["x"]) for name in ("target_modules", "exclude_modules", "layers_pattern", "modules_to_save")),
    *((ADAPTER, name, {"x": 1}) for name in ("rank_pattern", "auto_mapping", "megatron_config", "loftq_config")),
    *((ADAPTER, name, {"x": 1}) for name in ("eva_config", "corda_config", "lora_ga_config", "runtime_config")),
    (ADAPTER, "lora_dropout", 0.5),
    (ADAPTER, "init_lora_weights", "pissa"),
    *((ADAPTER, name, True) for name in ("use_dora", "lora_bias", "use_qalora", "other")),
    *((ADAPTER, name, [1]) for name in ("layer_replication", "target_parameters", "trainable_token_indices")),
]  # fmt: skip

REFUSED: list[tuple[str, str, Any, str]] = [
    ("config.json", "architectures", ["MyNet"], "architecture 'MyNet'"),
    ("modules.json", "type", "sentence_transformers.models.CNN", "Pooling, Dense, CNN"),
    ("modules.json", "type", "mine.Normalize", "Pooling, Dense, mine.Normalize"),
    ("modules.json", "path", "../secret", "secret"),
    (POOL, "pooling_mode", "median", "median"),
    (POOL, "pooling_mode", 3, "pooling 3"),
    (DENSE, "activation_function", "os.system", "os.system"),
    (DENSE, "in_features", "x", "in_features"),
    (DENSE, "out_features", 9, "2_Dense"),
    (SENTENCES, "max_seq_length", "x", "tokenizer"),
    (PROMPTS, "default_prompt_name", "none", "tokenizer"),
    (IMAGES, "do_resize", False, "not smaller"),
    (IMAGES, "size", {"shortest_edge": 17, "longest_edge": 40}, "not square"),
    (IMAGES, "size", {"height": 20, "width": 24}, "not square"),
    (IMAGES, "size", 12, "not smaller"),
    *((IMAGES, "resample", kind, f"{kind} is missing or not known") for kind in (0, 4, 5)),
    (IMAGES, "crop_size", {"height": 15, "width": SIDE}, "not square"),
    (IMAGES, "crop_size", 40, "not smaller"),
    (IMAGES, "image_processor_type", "LevitImageProcessor", "Levit"),
    (IMAGES, "image_mean", None, "image_mean"),
]  # fmt: skip


def changed(folder: Path, to: Path, file: str, name: str, value: object) -> Path:
    """A copy of a folder in which a field of a file says something else."""
    shutil.copytree(folder, to)
    found = read(folder, file)
    if file == "modules.json":
        found[3] |= {name: value}
    elif name.startswith("pooling_mode"):
        found = {name: value}
    else:
        found[name] = value
    write(to, file, found)
    return to


def base_of(file: str, request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue({IMAGES: "images", ADAPTER: "adapter"}.get(file, "texts"))
    return found


@pytest.mark.long
@pytest.mark.parametrize(("file", "name", "value"), CASES, ids=lambda value: str(value)[:40])
def test_every_field_is_followed_harmless_or_refused(
    file: str, name: str, value: Any, transformers: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    base = base_of(file, request)
    folder = changed(base, tmp_path / "changed", file, name, value)
    field = treatment_of(file, name)
    if field is None or field.treatment == "refused":
        with pytest.raises(TransferscopeError, match=rf"sets {name} = .*, which is not followed \(") as caught:
            ours(folder)
        assert "\n" not in str(caught.value)
        return
    expected = ours(base) if field.treatment == "harmless" else theirs(transformers, folder)
    tolerance = 0.03 if file in (IMAGES, ADAPTER) else 1e-5  # Pillow rounds a byte in a thousand to its neighbour
    torch.testing.assert_close(as_a_set(ours(folder)), as_a_set(expected), rtol=0, atol=tolerance)


@pytest.mark.parametrize(("file", "name", "value", "message"), REFUSED, ids=lambda value: str(value)[:40])
def test_a_value_that_cannot_be_followed_is_one_sentence(
    file: str, name: str, value: Any, message: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = changed(base_of(file, request), tmp_path / "changed", file, name, value)
    with pytest.raises(TransferscopeError, match=re.escape(message)) as caught:
        ours(folder)
    assert "\n" not in str(caught.value)


def test_the_walk_leaves_no_field_out() -> None:
    walked = {(file, name) for file, name, _ in CASES}
    for field in FIELDS:
        for name in field.names:
            assert name == "*" or " " in field.file or any(
                name == one and fnmatch(file, field.file) for file, one in walked
            ), (field.file, name)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("base", ["texts", "images"])
def test_weights_of_any_precision_are_computed_with_in_float32(
    base: str, dtype: torch.dtype, transformers: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "half"
    shutil.copytree(request.getfixturevalue(base), folder)
    transformers.AutoModel.from_pretrained(folder).to(dtype).save_pretrained(folder)
    assert next(iter(load_file(folder / "model.safetensors").values())).dtype == dtype
    found = ours(folder)
    tolerance = 0.03 if base == "images" else 1e-5
    torch.testing.assert_close(as_a_set(found), as_a_set(theirs(transformers, folder)), rtol=0, atol=tolerance)


def test_weights_in_parts_and_beside_others_are_those_of_one_file(
    transformers: Any, texts: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "parts"
    shutil.copytree(texts, folder)
    (folder / "model.safetensors").unlink()
    transformers.AutoModel.from_pretrained(texts).save_pretrained(folder, max_shard_size="5KB")
    assert len(list(folder.glob("model-*.safetensors"))) > 2
    (folder / "pytorch_model.bin").write_bytes(b"something else")
    write(folder, "generation_config.json", {"max_length": 3, "do_sample": True})
    assert torch.equal(ours(folder), ours(texts))


@pytest.mark.parametrize("garbage", ["", "[]", "3", '"x"', "null", "[" * 9999, '{"a"', "[{}]", '[{"path": 1}]'])
@pytest.mark.parametrize("file", ["config.json", SENTENCES, PROMPTS, POOL, DENSE, "modules.json", IMAGES])
def test_a_file_that_says_nothing_sensible_is_one_sentence(file: str, garbage: str, tmp_path: Path) -> None:
    kinds = ("Transformer", "Pooling", "Dense")
    modules = [
        {"path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    whole = {
        "config.json": {"architectures": ["BertModel"]}, "modules.json": modules, SENTENCES: {}, PROMPTS: {},
        POOL: {"pooling_mode": "mean"}, DENSE: {"in_features": 3, "out_features": 1},
        IMAGES: {"image_mean": [0.5], "image_std": [0.5], "size": 8, "image_processor_type": "ConvNextImageProcessor"},
    }  # fmt: skip
    for name, found in whole.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, name, found)
    assert NetworkSettings(f"hf:{tmp_path}").identity["sentences"]["pooling"] == ("mean",)
    (tmp_path / file).write_text(garbage)
    with pytest.raises(TransferscopeError) as caught:
        print(NetworkSettings(f"hf:{tmp_path}").identity)
    assert "\n" not in str(caught.value)
    assert Path(file).name in str(caught.value)


def test_rows_of_length_1_are_made_between_layers_and_not_at_the_end(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    shutil.copytree(texts, folder)
    modules = json.loads((texts / "modules.json").read_text())
    write(folder, "modules.json", [modules[i] for i in (0, 1, 3, 2, 3)])
    layers = HuggingFace(str(folder)).trained().module.get_submodule(AFTER)
    assert isinstance(layers, nn.Sequential)
    rows = torch.randn(4, 16)
    expected = torch.tanh(layers[1].get_submodule("linear")(rows / rows.norm(dim=1, keepdim=True)))
    torch.testing.assert_close(layers(rows), expected)
    found = HuggingFace(str(folder)).sentences
    assert found is not None
    assert found.left_out == ("3_Normalize",)


def test_weights_of_a_layer_after_the_pooling_are_those_of_a_trained_one(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "whole"
    shutil.copytree(texts, folder)
    file = folder / "2_Dense" / "model.safetensors"
    own = load_file(file)
    save_file({name: (tensor * 100).to(torch.int8) for name, tensor in own.items()}, file)
    with pytest.raises(TransferscopeError, match=r"holds linear\.\w+ as int8"):
        ours(folder)
    file.unlink()
    with pytest.raises(TransferscopeError, match=r"lacks linear\.weight"):
        ours(folder)


def test_an_adapter_beside_a_model_is_refused(texts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "adapter"
    shutil.copytree(texts, folder)
    write(folder, "adapter_config.json", {"peft_type": "LORA"})
    with pytest.raises(TransferscopeError, match=r"contains both an adapter \(adapter_config\.json\) and a model"):
        ours(folder)
    (folder / "adapter_config.json").unlink()
    write(folder, PROMPTS, {"prompts": {"q": "query "}, "default_prompt_name": "q"})
    write(folder, POOL, {"pooling_mode": "mean", "include_prompt": False})
    with pytest.raises(TransferscopeError, match=r"excludes the prompt from pooling \(include_prompt\)"):
        ours(folder)


@pytest.mark.parametrize("kind", ["CLIP", "MetaClip2", "Siglip"])
def test_a_tower_has_one_feature_under_all_names_of_its_class(kind: str, transformers: Any, tmp_path: Path) -> None:
    """Alone, under a projection, and in the model of images and texts: the library's `pooler_output` of each."""
    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    vision = {**size, "image_size": SIDE, "patch_size": 8}
    tokens = {"pad_token_id": 1, "bos_token_id": 97, "eos_token_id": 98}
    words = {**size, "vocab_size": 99, "max_position_embeddings": 10, **tokens}
    torch.manual_seed(0)
    text = getattr(transformers, f"{kind}TextConfig")(**words)
    image = getattr(transformers, f"{kind}VisionConfig")(**vision)
    whole = getattr(transformers, f"{kind}Model")(
        getattr(transformers, f"{kind}Config")(text_config=text.to_dict(), vision_config=image.to_dict())
    ).eval()
    for name, parameter in whole.named_parameters():
        if "layernorm" in name or "layer_norm" in name:
            parameter.data = torch.randn_like(parameter)
    whole.save_pretrained(tmp_path / "whole")
    pixels = torch.randn(3, 3, SIDE, SIDE)
    ids = torch.tensor([[97, 4, 5, 6, 98], [97, 7, 98, -1, -1], [97, 98, -1, -1, -1]])
    tokenised = torch.stack([ids, torch.where(ids < 0, -1, 0)], dim=1).int()
    with torch.no_grad():
        of_texts = []
        for row in ids:  # the texts of SigLIP are padded to their full length, and nothing is masked
            row = row[row >= 0]
            row = torch.nn.functional.pad(row, (0, 10 - len(row)), value=1) if kind == "Siglip" else row
            of_texts.append(whole.text_model(input_ids=row[None]).pooler_output)
        of_images = whole.vision_model(pixel_values=pixels).pooler_output
    towers = {"Vision": (pixels, of_images), "Text": (tokenised, torch.cat(of_texts))}
    for tower, (inputs, expected) in towers.items():
        names = [f"{tmp_path}/whole#{tower.lower()}", *([f"{tmp_path}/whole"] if tower == "Vision" else [])]
        for name in (f"{tower}Model", f"{tower}ModelWithProjection"):
            found = getattr(transformers, f"{kind}{name}", None)
            if found is not None:
                config = getattr(whole.config, f"{tower.lower()}_config")
                found.from_pretrained(tmp_path / "whole", config=config).save_pretrained(tmp_path / name)
                names.append(f"{tmp_path}/{name}")
        assert len(names) == (3 if tower == "Vision" else 2) + (kind != "Siglip")
        for name in names:
            scaling = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 2}
            write(Path(name.partition("#")[0]), IMAGES, scaling)
            settings = NetworkSettings(f"hf:{name}")
            opened = open_pretrained(Pretrained(settings), tuple(inputs.shape[1:]), head="either")
            assert opened.report.n_outputs == 0
            assert opened.report.missing == ()
            with torch.no_grad():
                torch.testing.assert_close(opened.network.eval().features(inputs), expected, rtol=0, atol=1e-6)
    identities = [NetworkSettings(f"hf:{tmp_path}/whole{tower}").identity for tower in ("", "#vision", "#text")]
    assert identities[0] == identities[1] != identities[2]
    for name, message in (("whole#audio", "expected #vision or #text"), ("TextModel#text", "has no tower 'text'")):
        with pytest.raises(TransferscopeError, match=message):
            input_of(NetworkSettings(f"hf:{tmp_path}/{name}"))
