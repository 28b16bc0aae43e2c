"""What LLMKube's pods get by an algorithm: arguments, volumes, downloads. What whole pods are is recorded from its
operators (``tests/conformance/test_children.py``).
"""

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.cluster import MemoryView
from webhook.facts.llmkube import FACTS
from webhook.facts.settings import DEFAULT_SETTINGS, Settings

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=4,
)
MODEL = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "m", "namespace": "n"},
    "spec": {
        "source": "hf://org/repo@v1",
        "files": ["a.gguf", "b.gguf"],
        "mmproj": "p.gguf",
        "format": "gguf",
        "sourceSecretRef": {"name": "s"},
        "hardware": {
            "gpu": {
                "count": 2,
                "layers": 30,
                "sharding": {"strategy": "layer", "layerSplit": ["0-9", "10-39"]},
                "resourceClaims": [{"name": "c", "resourceClaimName": "d"}],
            }
        },
    },
}
SERVICE = {
    "apiVersion": "inference.llmkube.dev/v1alpha1",
    "kind": "InferenceService",
    "metadata": {"name": "s", "namespace": "n"},
    "spec": {
        "modelRef": "m",
        "runtime": "llamacpp",
        "endpoint": {"port": 9000, "path": "/v1/embeddings"},
        "extraArgs": ["--parallel=2", "-v"],
        "parallelSlots": 3,
        "ropeScaling": {"type": "yarn", "factor": "2.0", "originalContext": 8192},
        "speculativeDecoding": {"type": "draft", "draftModelRef": "d", "nDraftMax": 4, "pMin": 0.00001},
        "reasoningBudget": 0,
        "reasoningBudgetMessage": "enough",
        "vllmConfig": {
            "kvCacheDtype": "auto",
            "gpuMemoryUtilization": 0.9,
            "speculative": {"enabled": True, "model": "x"},
        },
        "sglangConfig": {
            "loraModules": ["a=/a", '{"name": "b", "path": "/b"}', "c"],
            "loraAdapters": [{"name": "a", "path": "/typed"}],
            "speculative": {"enabled": True, "algorithm": "EAGLE", "draftModelPath": "/d", "acceptThresholdAcc": 0.5},
        },
        "resources": {"gpu": 1},
        "extraVolumes": [{"name": "model-storage", "emptyDir": {}}],
        "extraVolumeMounts": [
            {"name": "model-source", "mountPath": "/x"},
            {"name": "model-storage", "mountPath": "/y"},
        ],
        "modelCache": {"persistence": "Cached"},
    },
}
FOLDER = "/models/9db18e179c433d35"
DRAFT = {**MODEL, "metadata": {"name": "d", "namespace": "n"}, "spec": {"source": "pvc://claim/d.gguf"}}


def pod(fact: str, service: dict[str, Any], *models: dict[str, Any], settings: Settings = DEFAULT_SETTINGS) -> Any:
    return FACTS["InferenceService"][fact].value(service, MemoryView(models), settings)


def test_arguments_follow_the_release() -> None:
    expected = f"""
        --model {FOLDER}/a.gguf --port 9000 --host :: --n-gpu-layers 30 --split-mode layer --tensor-split 1,3
        --rope-scaling yarn --rope-scale 2.0 --yarn-orig-ctx 8192
        --spec-type draft-simple -md /model-source/d.gguf --spec-draft-n-max 4 --spec-draft-p-min 1e-05
        --reasoning-budget 0 --reasoning-budget-message enough --mmproj {FOLDER}/p.gguf --parallel=2 -v --metrics
    """
    assert pod("pod", SERVICE, MODEL, DRAFT)["args"] == expected.split()
    oldest = pod("pod5", SERVICE, MODEL)["args"]
    assert oldest[2:6] == ["--host", "::", "--port", "9000"]
    assert {"--draft-n-max", "draft"} <= {*oldest}
    assert not {"--spec-draft-n-max", "draft-simple"} & {*oldest}


@pytest.mark.parametrize(
    ("fact", "source", "served"),
    [
        ("pod5", "hf://org/repo", "org/repo"),
        ("pod11", "hf://org/repo@v1", "https://huggingface.co/org/repo/resolve/v1/"),
        ("pod", "hf://org/repo@v1", "org/repo@v1"),
        ("pod", "https://huggingface.co/org/repo/tree/v1", "org/repo@v1"),
        ("pod", "https://huggingface.co/datasets/org/repo", "https://huggingface.co/datasets/org/repo"),
        ("pod", "https://example.com/m", "https://example.com/m"),
    ],
)
def test_a_server_that_fetches_its_model_gets_a_name_by_the_release(fact: str, source: str, served: str) -> None:
    spec = {"modelRef": "m", "runtime": "vllm", "skipModelInit": True}
    model = {**MODEL, "spec": {"source": source}}
    assert pod(fact, {**SERVICE, "spec": spec}, model)["args"][0] == served


@pytest.mark.parametrize(
    ("source", "draft", "volumes", "mounts"),
    [
        ("https://h/m.gguf", "https://h/d.gguf", ["model-cache"], ["/models"]),
        ("https://h/m.gguf", "org/repo", ["model-cache", "model-storage"], ["/models", "/draft/models"]),
        ("https://h/m.gguf", "pvc://c/d.gguf", ["model-cache", "model-source"], ["/models", "/model-source"]),
        ("pvc://c/m.gguf", "pvc://c/d.gguf", ["model-source"], ["/model-source"]),
        (
            "pvc://c/m.gguf",
            "pvc://other/d.gguf",
            ["model-source", "draft-model-source"],
            ["/model-source", "/draft/model-source"],
        ),
    ],
)
def test_a_draft_is_staged_beside_its_model(source: str, draft: str, volumes: list[str], mounts: list[str]) -> None:
    models = {**MODEL, "spec": {"source": source}}, {**DRAFT, "spec": {"source": draft}}
    made = pod("pod", SERVICE, *models)
    assert [volume["name"] for volume in made["volumes"]] == volumes
    assert [mount["mountPath"] for mount in made["mounts"]] == mounts
    at = made["args"].index("-md") + 1
    assert made["args"][at].startswith(mounts[-1])


def test_without_its_model_a_service_may_mount_what_another_source_would_bring() -> None:
    made = pod("pod", SERVICE)
    assert [volume["name"] for volume in made["volumes"]] == ["model-cache", "model-source"]


def test_without_a_cache_models_are_staged_in_an_empty_directory() -> None:
    settings = Settings(operators=(("llmkube.modelCachePath", ""),))
    made = pod("pod", SERVICE, {**MODEL, "spec": {"source": "https://h/m.gguf"}}, settings=settings)
    assert not made["prepares"]
    assert made["volumes"] == [{"name": "model-storage", "claim": "", "path": ""}]


def paths(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield at
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from paths(item, (*at, key))


def with_value(obj: Any, keys: tuple[str | int, ...], value: Any) -> Any:
    if not keys:
        return value
    obj = copy.deepcopy(obj)
    node = obj
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    return obj


@given(
    st.sampled_from([*paths(SERVICE["spec"])]),
    st.sampled_from([*paths(MODEL["spec"])]),
    JSON,
    st.sampled_from(["llamacpp", "llamacpp-router", "vllm", "sglang", "tgi", "personaplex", "generic"]),
    st.sampled_from([name for name in FACTS["InferenceService"] if name.startswith("pod")]),
)
def test_whatever_an_object_holds_the_parts_are_texts(
    at: tuple[str | int, ...], of_model: tuple[str | int, ...], value: Any, runtime: str, fact: str
) -> None:
    spec = with_value({**SERVICE["spec"], "runtime": runtime}, at, value)
    service, model = {**SERVICE, "spec": spec}, {**MODEL, "spec": with_value(MODEL["spec"], of_model, value)}
    for one in (pod(fact, service, model, DRAFT), pod(fact, service)):
        assert all(isinstance(argument, str) for argument in one["args"])
        assert all(isinstance(text, str) for volume in one["volumes"] for text in volume.values())
    prefetched = FACTS["Model"][fact.replace("pod", "prefetch")].value(model, MemoryView([]), DEFAULT_SETTINGS)
    assert all(isinstance(download["name"], str) for download in prefetched["downloads"])
