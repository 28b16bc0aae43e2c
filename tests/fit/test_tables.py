"""The tables: GPUs are upper bounds, models lower ones, and each row has a source."""

import json

import pytest

from tools.fit import rows
from tools.fit.__main__ import main
from tools.fit.compiled import TABLES, compiled
from tools.fit.rows import RefusedRowError, gpu_row, model_row, parameters
from webhook.facts.memory import (
    GIB,
    accelerator,
    cache_bytes,
    device_of_labels,
    device_of_partition,
    model_of_file,
    model_of_repository,
    of_file,
    of_repository,
    size_of_text,
)

GPUS, MODELS = rows.read(rows.GPUS), rows.read(rows.MODELS)
LLAMA_8B = {
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
}
"""Of meta-llama/Llama-3.1-8B: 8.03 billion parameters."""


def test_the_compiled_tables_are_those_of_the_sources():
    assert TABLES.read_bytes() == compiled(), "python -m tools.fit"


@pytest.mark.parametrize("row", GPUS["gpus"], ids=lambda row: row["gpu"])
def test_a_gpu_is_an_upper_bound_with_a_source(row):
    assert set(row["sources"]) <= GPUS["sources"].keys()
    assert row["sources"]
    assert row["labels"]
    assert row["mib_max"] % 1024 == 0  # the nominal number of GB, as GiB
    assert row.get("label_mib", 0) <= row["mib_max"]  # what drivers say is never more
    assert not row.get("shared") or row["firm"] is False


def test_a_label_means_one_gpu():
    meant: dict[str, set[str]] = {}
    for row in GPUS["gpus"]:
        for label in (row["gpu"], *row["labels"]):
            meant.setdefault(label.lower(), set()).add(row["gpu"])
    assert {label: names for label, names in meant.items() if len(names) > 1} == {}


@pytest.mark.parametrize("row", GPUS["instances"], ids=lambda row: row["type"])
def test_an_instance_type_has_a_source_and_a_count(row):
    assert row["source"] in GPUS["sources"]
    assert row["count"] > 0
    assert row["gpu_mib_stated"] > 1024


@pytest.mark.parametrize("row", MODELS["models"], ids=lambda row: row["match"])
def test_a_model_is_a_lower_bound_with_a_source(row):
    assert row["source"]
    assert row["owners"]
    assert "params_b" not in row or row["params_b"] > 0
    cache = row["kv_bytes_token_fp16"]
    if cache is not None:
        full = row.get("full_attention_layers", row["layers"])
        by_heads = 4 * full * row["kv_heads"] * row["head_dim"]
        assert cache == (2 * row["layers"] * row["mla"] if "mla" in row else by_heads)


def test_parameters_are_those_that_a_configuration_computes_rounded_down():
    assert 8.01e9 < parameters(LLAMA_8B) < 8.0303e9
    row = model_row(LLAMA_8B, "llama-x-8b", ["meta"], "recorded", None)
    assert (row["kv_bytes_token_fp16"], row["native"], row["params_b"] <= 8.03) == (131072, "bf16", True)
    assert model_row(LLAMA_8B, "x", ["o"], "s", 7.5)["params_b"] == 7.5  # what is published, where it is less
    quantized = {**LLAMA_8B, "quantization_config": {"quant_method": "fp8"}, "torch_dtype": "bfloat16"}
    assert model_row(quantized, "x", ["o"], "s", None)["native"] == "fp8"
    assert model_row({**LLAMA_8B, "sliding_window": 4096}, "x", ["o"], "s", None)["kv_bytes_token_fp16"] is None


@pytest.mark.parametrize("missing", ["hidden_size", "num_hidden_layers", "vocab_size", "max_position_embeddings"])
def test_a_model_without_a_whole_configuration_is_refused(missing):
    config = {key: value for key, value in LLAMA_8B.items() if key != missing}
    with pytest.raises(RefusedRowError, match=missing):
        model_row(config, "x", ["o"], "s", None)


def test_a_row_without_a_source_is_refused():
    with pytest.raises(RefusedRowError, match="source"):
        model_row(LLAMA_8B, "x", ["o"], " ", None)
    with pytest.raises(RefusedRowError, match="not among the sources"):
        gpu_row("B400", 288, ["NVIDIA-B400"], "memory", firm=True, vendor="nvidia")


def test_one_command_adds_a_model_from_its_recorded_configuration(tmp_path, monkeypatch, capsys):
    copies = {name: tmp_path / getattr(rows, name).name for name in ("GPUS", "MODELS")}
    for name, copy in copies.items():
        copy.write_bytes(getattr(rows, name).read_bytes())
        for module in ("tools.fit.rows", "tools.fit.compiled", "tools.fit.__main__"):
            monkeypatch.setattr(f"{module}.{name}", copy)
    for module in ("tools.fit.compiled", "tools.fit.__main__"):
        monkeypatch.setattr(f"{module}.TABLES", tmp_path / "tables.json")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LLAMA_8B))
    assert main(["model", str(config), "--match=llama-9-8b", "--owner=meta-llama", "--source=recorded"]) == 0
    assert main(["gpu", "B400", "--gib=288", "--label=NVIDIA-B400", "--source=N"]) == 0
    written = json.loads((tmp_path / "tables.json").read_bytes())
    assert written["models"][-1]["match"] == "llama-9-8b"
    assert written["labels"]["nvidia-b400"] == "B400"
    config.write_text("{}")
    before = copies["MODELS"].read_bytes()
    assert main(["model", str(config), "--match=x", "--owner=o", "--source=s"]) == 1
    assert "refused: the config.json does not say" in capsys.readouterr().err
    assert copies["MODELS"].read_bytes() == before


NAMES = {
    "Llama-3.3-70B-Instruct-Q4_K_M.gguf": 70_550_000_000,
    "Meta-Llama-3.1-8B-Instruct.Q8_0.gguf": 8_029_999_999,
    "Meta-Llama-3.1-405B-Instruct-Q4_K_M-00001-of-00009.gguf": 405_849_000_000,
    "DeepSeek-R1-0528-Qwen3-8B-Q4_K_M.gguf": None,
    "our-llama-3.3-70b-instruct-Q4_K_M.gguf": None,
    "Llama-3.3-70B-Instruct-pruned-Q4_K_M.gguf": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_a_model_if_its_whole_name_is(name):
    named = model_of_file(name)
    assert (named.model.params if named and named.model else None) == NAMES[name]


def test_a_quantization_that_is_not_known_bounds_nothing():
    assert of_file(model_of_file("Llama-3.3-70B-Instruct-Q9_K.gguf") or model_of_file("x-Q4_0.gguf")) is None


GIBS = {
    "meta-llama/Llama-3.1-70B-Instruct": (131.4, True),
    "deepseek-ai/DeepSeek-V3-0324": (624.9, True),
    "openai/gpt-oss-120b": (54.9, True),
    "Qwen/Qwen3-8B-FP8": (7.6, True),
    "moonshotai/Kimi-K2-Thinking": (454.1, True),
    "unsloth/Llama-3.3-70B-Instruct": (31.2, False),
    "RedHatAI/Llama-3.3-70B-Instruct-AWQ": (31.2, False),
}


@pytest.mark.parametrize("repository", GIBS)
def test_a_repository_has_at_least_so_much(repository):
    bound = of_repository(model_of_repository(repository))
    assert (round(bound.bytes / GIB, 1), bound.certain) == pytest.approx(GIBS[repository])


def test_the_cache_is_what_engines_report():
    """VLLM's own messages: 22.5 GiB (Mistral-Small-4), 8.58 GiB for each rank (Kimi-K2.5, fp8)."""
    assert cache_bytes(model_of_repository("mistralai/Mistral-Small-4-119B-2603"), 1048576) / GIB == 22.5
    kimi = model_of_repository("moonshotai/Kimi-K2.5")
    assert round(cache_bytes(kimi, 262144, 0.5) / GIB, 2) == 8.58
    assert cache_bytes(kimi, 262144, 0.5, ranks=8) == 8 * cache_bytes(kimi, 262144, 0.5)
    assert cache_bytes(model_of_repository("google/gemma-3-27b-it"), 131072) == 0  # hybrid: not known


@pytest.mark.parametrize(
    ("text", "gib"),
    [("39.6 GiB", 39.55), ("4 GiB", 3.5), ("512.0 MiB", 0.49995), ("", None), ("0", None), ("x GiB", None)],
)
def test_a_size_is_what_it_is_at_least(text, gib):
    found = size_of_text(text)
    assert (None if found is None else found / GIB) == (None if gib is None else pytest.approx(gib, rel=1e-3))


def test_devices_are_upper_bounds():
    assert accelerator("A100").bytes == 80 * GIB  # of all its variants
    assert accelerator("GH200") is None  # shares the memory of the node
    assert accelerator("my-gpu") is None
    assert device_of_partition("1g.10gb", {}).bytes == 10 * GIB
    assert device_of_partition("1g.10gb", {"nvidia.com/mig-1g.10gb.memory": "9728"}).bytes == 9728 * 2**20
    labels = {"nvidia.com/gpu.product": "NVIDIA-A10G-SHARED", "nvidia.com/gpu.memory": "23028"}
    assert device_of_labels(labels, "nvidia.com/gpu").bytes == 24 * GIB  # the table, where it is more
    assert device_of_labels({"amd.com/gpu.vram": "192G"}, "amd.com/gpu").bytes == 192 * GIB
    assert device_of_labels({"node.kubernetes.io/instance-type": "g5.xlarge"}, "nvidia.com/gpu").bytes == 24 * GIB
    assert device_of_labels(labels, "gpu.intel.com/i915") is None
