"""Fields of the files of a network: followed, harmless to every feature, or refused."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal

from transferscope.errors import NetworkError

Treatment = Literal["followed", "harmless", "refused"]


@dataclass(frozen=True, slots=True)
class Field:
    """Fields of a file with the same treatment.

    Attributes:
        file: Pattern of its name, within the folder of the network.
        names: The fields; "*" for all others of the file.
        treatment: Whether they are followed, change no feature, or are refused unless they have a default value.
        what: How they are followed, or why they are harmless.
        usual: Default values of a refused field, besides null, false and empty values.
    """

    file: str
    names: tuple[str, ...]
    treatment: Treatment
    what: str
    usual: tuple[object, ...] = ()


def _fields(file: str, names: str, treatment: Treatment, what: str, *usual: object) -> Field:
    return Field(file, tuple(names.split()), treatment, what, usual)


_SENTENCES = "sentence_*_config.json"

FIELDS: tuple[Field, ...] = (
    _fields(
        "config.json",
        "architectures",
        "followed",
        "the class of transformers; of one whose head predicts tokens or projects (`...WithProjection`) the encoder, "
        "of one of images and texts (`CLIPModel`) its image tower, or the one of texts for `hf:FOLDER#text`",
    ),
    _fields(
        "config.json",
        "id2label label2id num_labels problem_type",
        "followed",
        "the number of outputs of a head, which is used where a head is of use; no feature depends on it",
    ),
    _fields("config.json", "quantization_config compression_config", "refused", "the weights are not what they say"),
    _fields("config.json", "auto_map", "refused", "code of a folder is never run"),
    _fields("config.json", "adapters", "refused", "adapters are not put in: merge them and save the model again"),
    _fields("config.json", "torchscript", "refused", "a traced model is not opened"),
    _fields(
        "config.json",
        "dtype torch_dtype",
        "harmless",
        "weights in float16, bfloat16 and float64 are read as float32, in which all is computed",
    ),
    _fields(
        "config.json",
        "_name_or_path transformers_version return_dict output_hidden_states output_attentions "
        "use_cache sentence_transformers",
        "harmless",
        "what a model returns beside its features",
    ),
    _fields("config.json", "*", "followed", "transformers builds the network of them"),
    _fields(
        "model.safetensors",
        "*",
        "followed",
        "weights, or in parts as `model.safetensors.index.json` lists them; all of the backbone must be there (those "
        "that transformers ties may be there once)",
    ),
    _fields(
        "preprocessor_config.json",
        "do_resize size default_to_square resample do_center_crop crop_size crop_pct do_rescale rescale_factor "
        "rescale_offset do_normalize image_mean image_std include_top",
        "followed",
        "images are resized with Pillow's interpolation (stretched to a square or by their short side), their middle "
        "cut out, and scaled; sizes that are neither a square nor a short side are refused, as is another "
        "interpolation than bilinear, bicubic and lanczos",
    ),
    _fields(
        "preprocessor_config.json",
        "image_processor_type feature_extractor_type",
        "followed",
        "those that do these steps alone, whose class says what the file leaves out: ViT, CLIP, Bit, DeiT, Siglip, "
        "ConvNext, EfficientNet, Beit, Pvt, Blip, ChineseCLIP, MobileNetV1, MobileNetV2, Segformer; others are refused",
    ),
    _fields(
        "preprocessor_config.json",
        "do_convert_rgb do_reduce_labels reduce_labels processor_class data_format input_data_format "
        "return_tensors device disable_grouping backend",
        "harmless",
        "images are brought to three channels in any case",
    ),
    _fields("preprocessor_config.json", "do_flip_channel_order", "refused", "channels in another order"),
    _fields("preprocessor_config.json", "do_pad pad_size size_divisor size_divisibility", "refused", "borders"),
    _fields("*.bin", "*", "harmless", "not read: weights come from safetensors alone"),
    _fields(
        "adapter_config.json",
        "peft_type base_model_name_or_path lora_alpha alpha_pattern use_rslora",
        "followed",
        "LoRA, in a folder without a model: added to the weights of its base, which must be a folder here",
    ),
    _fields(
        "adapter_config.json",
        "r rank_pattern target_modules exclude_modules layers_to_transform layers_pattern modules_to_save bias "
        "fan_in_fan_out auto_mapping task_type",
        "harmless",
        "`adapter_model.safetensors` has what was trained, and its shapes say the ranks",
    ),
    _fields(
        "adapter_config.json",
        "lora_dropout inference_mode revision peft_version megatron_config megatron_core loftq_config eva_config "
        "corda_config lora_ga_config qalora_group_size runtime_config ensure_weight_tying",
        "harmless",
        "how it was trained",
    ),
    _fields(
        "adapter_config.json",
        "init_lora_weights",
        "refused",
        "an initialisation that changes the weights of the base",
        True,
        "gaussian",
        "eva",
        "orthogonal",
    ),
    _fields("adapter_config.json", "*", "refused", "the weights are not those of the base with B A added"),
    _fields("generation_config.json", "*", "harmless", "nothing is generated"),
    _fields(
        "tokenizer*.json",
        "*",
        "followed",
        "transformers opens the tokenizer (lower case, special tokens, added tokens, truncation side); "
        "`model_max_length` cuts texts, `model_input_names` without `token_type_ids` leaves them out",
    ),
    _fields("tokenizer*.json", "padding padding_side truncation", "harmless", "each text is read as if it were alone"),
    _fields("modules.json", "idx name kwargs", "harmless", "their order is that of the list"),
    _fields(
        "modules.json",
        "type path",
        "followed",
        "Transformer, Pooling, then any of Dense, Normalize and Dropout, but a Normalize at the end is left out; other "
        "modules are refused",
    ),
    _fields(
        "[0-9]*_Pooling/config.json",
        "pooling_mode pooling_mode_cls_token pooling_mode_max_tokens pooling_mode_mean_tokens "
        "pooling_mode_mean_sqrt_len_tokens pooling_mode_weightedmean_tokens pooling_mode_lasttoken",
        "followed",
        "several stand side by side",
    ),
    _fields("[0-9]*_Pooling/config.json", "word_embedding_dimension embedding_dimension", "harmless", "the width"),
    _fields(
        "[0-9]*_Pooling/config.json",
        "include_prompt",
        "followed",
        "false beside a default prompt is refused: all tokens are pooled",
    ),
    _fields(
        "[0-9]*_Dense/config.json",
        "in_features out_features bias activation_function",
        "followed",
        "a linear layer, of `model.safetensors` beside it, and an activation of torch.nn",
    ),
    _fields(
        "[0-9]*_*/config.json",
        "module_input_name module_output_name",
        "refused",
        "layers read the text's row (`sentence_embedding`)",
        "sentence_embedding",
    ),
    _fields("[0-9]*_Dense/config.json", "use_residual", "refused", "it adds to the row"),
    _fields("[0-9]*_Dropout/config.json", "dropout", "harmless", "features are computed in evaluation mode"),
    _fields(
        _SENTENCES,
        "max_seq_length",
        "followed",
        "texts are cut there, or earlier where `max_length`, the tokenizer or `max_position_embeddings` say so",
    ),
    _fields(_SENTENCES, "do_lower_case", "followed", "the tokenizer reads small letters"),
    _fields(_SENTENCES, "unpad_inputs", "harmless", "how a batch is laid out"),
    _fields(
        _SENTENCES,
        "transformer_task",
        "refused",
        "the encoder's hidden states are pooled (`feature-extraction`)",
        "feature-extraction",
    ),
    _fields(
        _SENTENCES,
        "modality_config",
        "refused",
        "texts are read by the encoder's forward",
        {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    ),
    _fields(_SENTENCES, "module_output_name", "refused", "tokens are pooled (`token_embeddings`)", "token_embeddings"),
    _fields(
        "config_sentence_transformers.json",
        "default_prompt_name",
        "followed",
        "its prompt stands before every text",
    ),
    _fields(
        "config_sentence_transformers.json",
        "prompts similarity_fn_name __version__",
        "harmless",
        "no prompt but the default one is used, and no texts are compared",
    ),
    _fields(
        "config_sentence_transformers.json",
        "model_type",
        "refused",
        "another than `SentenceTransformer`",
        "SentenceTransformer",
    ),
    _fields(
        "a file of weights",
        "state_dict model_state_dict model ema",
        "followed",
        "the one that is there; two sets of weights, such as averaged ones beside the last, are refused whatever their "
        "names",
    ),
    _fields(
        "a file of weights",
        "names shapes values",
        "followed",
        "the whole backbone, finite, not all zero, without what DataParallel, torch.compile and averaged models put "
        "before names; a weight that the network has under several names may be there once",
    ),
    _fields(
        "a file of weights", "types", "followed", "float16 to float64; whole numbers and quantised ones are refused"
    ),
    _fields("a file of weights", "optimizer epoch n_averaged hyper_parameters", "harmless", "whatever else lies there"),
    _fields("a file of weights", "code", "refused", "pickled classes and archives of torch.jit are never run"),
    _fields(
        "timm NAME",
        "input_size mean std crop_pct crop_mode interpolation classifier",
        "followed",
        "timm's own settings; sides that differ and the crop_mode border are refused",
    ),
    _fields("torchvision NAME", "crop_size resize_size mean std interpolation", "followed", "of the default weights"),
)
"""Treatment of every field. An unlisted field of a listed file is refused, unless it is empty."""

_SAYS_NOTHING: tuple[object, ...] = (None, False, "", [], {})


def treatment_of(file: str, name: str) -> Field | None:
    """Return the entry of a field by its name, or a general entry; None for an unknown field."""
    fitting = [field for field in FIELDS if fnmatch(file, field.file)]
    return next((f for f in fitting if name in f.names), next((f for f in fitting if f.names == ("*",)), None))


def refusal_of(file: str, fields: Mapping[str, Any]) -> str | None:
    """Return the unsupported fields of a file as the end of a sentence; None if all are followed or harmless.

    Args:
        file: Its name within the folder of the network.
    """
    for name, value in fields.items():
        field = treatment_of(file, name)
        usual = (None, *field.usual) if field is not None and field.usual else _SAYS_NOTHING
        if (field is None or field.treatment == "refused") and value not in usual:
            why = "a field that is not known here" if field is None else field.what
            return f"sets {name} = {str(value)[:80]!r}, which is not followed ({why})"
    return None


def check_fields(path: Path, fields: Mapping[str, Any], file: str = "") -> None:
    """Refuse unsupported fields of a file.

    Args:
        file: Its name within the folder of the network; "" for one in the folder itself.

    Raises:
        NetworkError: A refused or unknown field has a value other than its default.
    """
    refusal = refusal_of(file or path.name, fields)
    if refusal is not None:
        raise NetworkError(f"{path} {refusal}; save the model without it")


def read_fields(path: Path, file: str = "") -> dict[str, Any]:
    """Return the fields of a JSON file, after checking that all are followed or harmless.

    Args:
        file: Its name within the folder of the network; "" for one in a folder of that folder.

    Raises:
        NetworkError: It cannot be read, or a field is refused.
    """
    fields = read_json(path)
    if not isinstance(fields, dict):
        raise NetworkError(f"{path} is not a JSON object; download the folder again")
    check_fields(path, fields, file or f"{path.parent.name}/{path.name}")
    return fields


def read_json(path: Path) -> Any:
    """Read a JSON file; raises NetworkError if it cannot be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise NetworkError(f"{path} cannot be read as JSON; download the folder again") from error


def check_folder(folder: Path) -> None:
    """Refuse a folder of transformers with an unsupported field.

    Raises:
        NetworkError: A field, or a file, is refused.
    """
    adapter = folder / "adapter_config.json"
    if adapter.exists():
        raise NetworkError(
            f"{folder} contains both an adapter (adapter_config.json) and a model; use one folder each, or save them "
            "merged (merge_and_unload of peft)"
        )
    for file in sorted(folder.glob("*.json")):
        is_read = file.name in ("config.json", "config_sentence_transformers.json") or fnmatch(file.name, _SENTENCES)
        if is_read and file.is_file():
            read_fields(file, file.name)
