"""The values that the API documents give as examples are accepted; only those with a flaw get a warning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.kinds import merged, row_of
from webhook import catalog
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.library.review import review
from webhook.manifests.documents import Document

LOADED = catalog.load()
# The examples refer to objects that are not there.
OPTIONS = Options(references=False)

MODEL = {"hardware": None}
"""A Model that requests no GPU."""
BENCHMARK = {"endpoint": {"inferenceService": None, "endpoint": {"url": "http://h:80/v1", "apiFormat": "openai"}}}
BENCHMARK["endpoint"]["endpoint"]["modelName"] = "m"
METADATA = {"engine": "vLLM", "version": "0.5.3", "gpuType": "H100", "gpuCount": 1}
KEDA = {"promServerAddress": "http://prometheus-operated.monitoring.svc.cluster.local:9090"}
TEMPLATE = "/{.metadata.namespace}/{.metadata.labels['team']}/{.spec.model}/"

EXAMPLES: list[tuple[str, dict[str, Any], str]] = [
    # Kind, change of the specification, codes of the warnings
    ("OpenModel", {"familyName": "llama2"}, ""),
    ("OpenModel", {"source": {"modelHub": {"modelID": "meta-llama/Meta-Llama-3-8B"}}}, ""),
    ("OpenModel", {"source": {"modelHub": None, "uri": "ollama://llama3.3"}}, ""),
    ("OpenModel", {"createdAt": "2024-05-21T10:00:00Z"}, ""),
    ("OpenModel", {"inferenceConfig": {"flavors": [{"name": "a", "limits": {"nvidia.com/gpu": 8}}]}}, ""),
    ("OpenModel", {"inferenceConfig": {"flavors": [{"name": "a", "params": {"INSTANCE-TYPE": "p4d.24xlarge"}}]}}, ""),
    ("VariantAutoscaling", {"variantID": "meta/llama-3.1-8b-A100-4"}, ""),
    ("VariantAutoscaling", {"accelerator": "L40S", "variantID": "meta/llama-3.1-8b-L40S-4"}, ""),
    ("Model", MODEL | {"source": "https://huggingface.co/org/repo/resolve/main/model.gguf"}, ""),
    ("Model", MODEL | {"source": "file:///mnt/models/model.gguf"}, "LK327"),
    ("Model", MODEL | {"source": "/mnt/models/model.gguf"}, "LK327"),
    ("Model", MODEL | {"source": "pvc://my-models-pvc/path/to/model.gguf"}, ""),
    (
        "Model",
        {"format": "mlx", "hardware": {"accelerator": "metal", "gpu": None}}
        | {"source": "/mnt/models/Llama-3.2-3B-Instruct-4bit"},
        "LK324 LK327",
    ),
    *(("Model", MODEL | {"quantization": text}, "LK363") for text in ("Q4_0", "Q5_K_M", "F16")),
    *(
        ("Model", {"hardware": {"accelerator": "metal", "memoryBudget": text, "gpu": None}}, "")
        for text in ("24Gi", "8192Mi")
    ),
    *(("Model", {"hardware": {"gpu": {"memory": text}}}, "LK335") for text in ("8Gi", "16Gi")),
    *(("Model", MODEL | {"resources": {"cpu": text, "memory": "4Gi"}}, "LK334") for text in ("2", "2000m")),
    ("Model", {"hardware": {"gpu": {"resourceName": "squat.ai/dri-render"}}}, ""),
    ("Model", {"hardware": {"gpu": {"layers": 32}}}, ""),
    ("Model", {"hardware": {"gpu": {"count": 2, "sharding": {"layerSplit": ["0-15", "16-31"]}}}}, ""),
    ("AIMService", {"aimImageName": "meta-llama-3-8b-1-1-20240915"}, ""),
    ("AIMServiceTemplate", {"aimImageName": "meta/llama-3-8b:1.1+20240915"}, "AI232"),
    ("AIMClusterServiceTemplate", {"aimImageName": "meta/llama-3-8b:1.1+20240915"}, "AI242"),
    ("AIMRuntimeConfig", {"routing": {"enabled": True, "routeTemplate": TEMPLATE}}, "AI274"),
    ("AIMClusterRuntimeConfig", {"routing": {"enabled": True, "routeTemplate": TEMPLATE}}, "AI282"),
    *(("BaseModel", {"modelType": text}, "") for text in ("bert", "gpt2", "llama")),
    *(
        ("BaseModel", {"modelFramework": {"name": text}}, "")
        for text in ("ONNX", "ONNXRuntime", "TensorFlow", "PyTorch", "Transformer", "TensorRTLLM")
    ),
    *(
        ("BaseModel", {"modelFormat": {"name": text}}, "")
        for text in ("ONNX", "TensorFlow SavedModel", "PyTorch", "SafeTensors")
    ),
    *(
        ("BaseModel", {"modelArchitecture": text}, "")
        for text in ("LlamaForCausalLM", "GemmaForCausalLM", "MixtralForCausalLM")
    ),
    *(("BaseModel", {"quantization": text}, "") for text in ("fp8", "fbgemm_fp8", "int4")),
    *(("BaseModel", {"modelParameterSize": text}, "") for text in ("7B", "13B", "175B")),
    ("BaseModel", {"modelCapabilities": ["TEXT_GENERATION", "TEXT_SUMMARIZATION", "TEXT_EMBEDDINGS"]}, ""),
    *(("FineTunedWeight", {"modelType": text}, "") for text in ("Distillation", "Adapter", "Tfew")),
    ("BenchmarkJob", BENCHMARK | {"task": "text-to-text"}, ""),
    ("BenchmarkJob", BENCHMARK | {"task": "image-to-text", "trafficScenarios": None, "dataset": None}, "OM352"),
    ("BenchmarkJob", BENCHMARK | {"serviceMetadata": METADATA}, ""),
    (
        "BenchmarkJob",
        merged(BENCHMARK, {"endpoint": {"endpoint": {"url": "https://example.com/v1", "apiFormat": "oci-cohere"}}}),
        "",
    ),
    (
        "InferenceService",
        {"kedaConfig": KEDA | {"scalingThreshold": "10", "scalingOperator": "GreaterThanOrEqual"}},
        "",
    ),
    (
        "InferenceService",
        {"kedaConfig": KEDA | {"customPromQuery": 'avg_over_time(http_requests_total{service="llama"}[5m])'}},
        "OM313",
    ),
    (
        "ServingRuntime",
        {
            "supportedModelFormats": [
                {"modelFormat": {"name": name}, "modelFramework": {"name": framework}, "quantization": quantization}
                for name, framework, quantization in (
                    ("PyTorch", "PyTorch", "fp8"),
                    ("TensorFlow", "TensorFlow", "fbgemm_fp8"),
                    ("ONNX", "ONNX", "int4"),
                    ("SafeTensors", "Transformers", "int4"),
                )
            ]
        },
        "",
    ),
]


def warnings(kind: str, change: Any) -> Iterator[str]:
    """The codes of the warnings; an error fails the test."""
    row = row_of(kind)
    result = review(Document("", 1, row.object("example", change, namespace="default")), LOADED, MemoryView(), OPTIONS)
    assert [str(cause) for cause in result.validation.causes] == []
    yield from (warning.code for warning in result.validation.warnings if warning.code)


@pytest.mark.parametrize(
    ("kind", "change", "codes"), EXAMPLES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_example_of_a_document_passes(kind: str, change: dict[str, Any], codes: str) -> None:
    assert {*warnings(kind, change)} - {*warnings(kind, {})} == {*codes.split()}
