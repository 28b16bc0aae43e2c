"""OME's own manifests get the right verdict, each folder seen as one cluster."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from tests import samples
from tests.shared import shared
from tools.coverage.samples import verdicts
from webhook.catalog import Catalog

Codes = tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """Of one file: how often objects are refused for these reasons, rules warn, and a runtime is chosen."""

    documents: int
    denied: dict[Codes, int] = field(default_factory=dict)
    warned: dict[str, int] = field(default_factory=dict)
    chosen: int = 0


FILES = {
    "ome/head/BenchmarkJob.yaml": Expected(1, warned={"OM451": 1}),
    "ome/head/ClusterBaseModel.yaml": Expected(161),
    "ome/head/ClusterServingRuntime.yaml": Expected(
        141,
        # operator, a field of a later release
        {
            (
                "spec.supportedModelFormats[0].modelFormat.operator",
                "spec.supportedModelFormats[0].modelFramework.operator",
            ): 1
        },
        {"OM325": 2, "OM321": 4, "OM394": 1},
    ),
    "ome/head/InferenceService.yaml": Expected(
        110,
        {
            # a part of the samples is held out, and with it models and runtimes that services refer to
            ("OM401",): 16,
            ("OM407",): 18,
            ("OM401", "OM407"): 5,
            ("OM405",): 14,  # models whose format the agent has yet to find
            ("spec.deployment", "spec.model.modelName", "spec.model.name", "spec.model.runtime"): 1,
            ("spec.maxReplicas", "spec.minReplicas", "spec.modelRef", "spec.scaleTarget"): 1,
        },
        {"OM414": 6, "OM417": 1, "OM317": 2},
        11,
    ),
    "ome/doc-era/BenchmarkJob.yaml": Expected(3, warned={"OM506": 2}),
    "ome/doc-era/ClusterBaseModel.yaml": Expected(17, warned={"OM336": 1}),
    "ome/doc-era/ClusterServingRuntime.yaml": Expected(19),
    "ome/doc-era/InferenceService.yaml": Expected(9, {("OM401",): 3, ("OM405",): 2, ("OM407",): 2}, {"OM409": 1}, 1),
}

# Fragments of documentation: storageKey is called key, an engine does not have the fields resources and model,
# accelerators and references by modelRef are newer than the API document, and irrelevant parts are omitted.
FRAGMENTS = {
    "ome/head-docs/BaseModel.yaml": samples.Expected(
        2,
        denied={
            3: ["spec.storage"],
            18: ["spec.storage.storageKey"],
        },
    ),
    "ome/head-docs/BenchmarkJob.yaml": samples.Expected(
        2,
        denied={
            3: [
                "spec.comparisonMetrics",
                "spec.endpoint",
                "spec.endpoints",
                "spec.maxRequestsPerIteration",
                "spec.maxTimePerIteration",
                "spec.outputLocation",
                "spec.trafficScenarios",
            ],
        },
    ),
    "ome/head-docs/ClusterBaseModel.yaml": samples.Expected(
        2,
        denied={
            3: ["spec.storage.storageKey"],
            34: ["spec.modelConfiguration", "spec.storage.storageKey"],
        },
        warned={"OM337": 2},
    ),
    "ome/head-docs/ClusterServingRuntime.yaml": samples.Expected(
        1,
        denied={
            3: ["spec.engineConfig.runner.name"],
        },
    ),
    "ome/head-docs/InferenceService.yaml": samples.Expected(
        19,
        denied={
            3: ["spec.mcpServers", "spec.model.name", "spec.runtime.name"],
            19: [
                "spec.mcpRoute",
                "spec.model.modelRef",
                "spec.model.name",
                "spec.runtime.name",
                "spec.runtime.runtimeRef",
            ],
            36: [
                "spec.mcpRoute",
                "spec.model.modelRef",
                "spec.model.name",
                "spec.runtime.name",
                "spec.runtime.runtimeRef",
            ],
            53: ["spec.acceleratorSelector", "spec.model.name", "spec.runtime.name"],
            71: ["spec.acceleratorSelector", "spec.model.name"],
            86: ["spec.acceleratorSelector", "spec.model"],
            106: ["spec.acceleratorSelector"],
            126: ["spec.acceleratorSelector"],
            145: ["spec.engine.resources", "spec.runtime.name"],
            160: ["spec.model"],
            172: ["spec.engine.model", "spec.engine.resources", "spec.model"],
            184: ["spec.engine.model", "spec.engine.resources", "spec.model"],
            198: ["spec.engine.model", "spec.engine.parallelism", "spec.engine.resources", "spec.model"],
            213: ["spec.engine.model", "spec.model"],
            224: ["spec.engine.model", "spec.model"],
            235: ["spec.model.name", "spec.runtime.name"],
            250: ["spec.model.name"],
            263: ["spec.acceleratorSelector", "spec.model.name", "spec.runtime.name"],
            276: ["spec.acceleratorSelector", "spec.engine.acceleratorOverride", "spec.model.name"],
        },
        warned={"KP001": 4, "OM317": 5, "OM318": 2, "OM379": 2},
    ),
    "ome/head-docs/ServingRuntime.yaml": samples.Expected(
        3,
        denied={
            3: [
                "spec.acceleratorConfigurations",
                "spec.acceleratorRequirements",
                "spec.supportedModelFormats[0].modelFormat",
                "spec.supportedModelFormats[0].modelFramework",
            ],
            40: [
                "spec.acceleratorConfigurations",
                "spec.supportedModelFormats[0].modelFormat",
                "spec.supportedModelFormats[0].modelFramework",
            ],
            104: [
                "spec.acceleratorRequirements",
                "spec.supportedModelFormats[0].modelFormat",
                "spec.supportedModelFormats[0].modelFramework",
            ],
        },
        warned={"OM321": 3},
    ),
}


@pytest.mark.parametrize(("path", "expected"), FILES.items(), ids=FILES)
def test_samples_of_ome_get_the_expected_causes_and_warnings(path: str, expected: Expected, loaded: Catalog) -> None:
    file = shared("samples", *path.split("/"))
    found = list(verdicts(file, loaded))
    assert len(found) == expected.documents
    causes = [tuple(sorted(cause.code or cause.field for cause in each.validation.causes)) for each in found]
    assert Counter(filter(None, causes)) == expected.denied
    warnings = [warning.code or warning.field for each in found for warning in each.validation.warnings]
    assert Counter(warnings) == expected.warned
    chosen = [any(default.code == "OM112" for default in each.mutation.defaults) for each in found]
    assert sum(chosen) == expected.chosen


@pytest.mark.parametrize(("path", "expected"), FRAGMENTS.items(), ids=FRAGMENTS)
def test_fragments_get_their_verdicts(path: str, expected: samples.Expected, loaded: Catalog) -> None:
    samples.check(path, expected, loaded)
