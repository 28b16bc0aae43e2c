"""Real manifests of the upstream repositories get the right verdict, each denial for the reason it deserves."""

import pytest

from tests.samples import Expected, check
from tests.shared import shared
from tests.test_aim_samples import FILES as OF_AIM
from tests.test_ome_samples import FILES as OF_OME
from tests.test_ome_samples import FRAGMENTS
from tools.coverage.samples import verdicts, warnings_each
from webhook.catalog import Catalog

VARIANT = [f"spec.{field}" for field in ("accelerator", "acceleratorCount", "variantID", "variantProfile")]
OLDEST = [f"spec.{field}" for field in ("acceleratorType", "maxBatchSize", "minReplicas", "modelName", "serviceClass")]
NEWER = sorted([*VARIANT, "spec", "spec.scaleTargetRef", "spec.sloClassRef"])

FILES = {
    "llmaz/main/OpenModel.yaml": Expected(
        documents=12,
        denied={25: ["spec.inferenceConfig.flavors[0].requests"]},  # a field of a time before limits
        warned={"LZ303": 1, "LZ305": 1},  # s3://<YOUR_S3_BUCKET>/DeepSeek-R1-Distill-Qwen-1.5B
    ),
    "llmd/g1-older-shape/VariantAutoscaling.yaml": Expected(
        documents=4,
        denied={
            **dict.fromkeys((3, 16), sorted([*VARIANT, "spec.modelID", "spec.sloClassRef", *OLDEST, "spec"])),
            **dict.fromkeys((29, 55), sorted([*VARIANT, "spec.modelProfile", "spec"])),
        },
    ),
    "llmd/g3-newer-shape/VariantAutoscaling.yaml": Expected(
        documents=16,
        denied={
            **dict.fromkeys((3, 16, 34, 52, 70, 86, 187), sorted([*NEWER, "spec.variantCost"])),
            **dict.fromkeys((102, 114, 128), NEWER),
            **dict.fromkeys((140, 152), sorted([*VARIANT, "spec.sloClassRef"])),  # fragments
            161: sorted([*NEWER, "spec.modelID"]),
            170: sorted([*VARIANT, "spec.modelID", "spec.modelId", "spec.sloClassRef"]),  # modelId is not a field
            180: ["spec"],  # metadata alone, as 200
            200: ["spec"],
        },
    ),
    "llmkube/0.9.19/Model.yaml": Expected(
        documents=18,
        denied={
            119: ["spec.prefetch"],  # a field of 0.9.11
            137: ["spec.source", "spec.sourceSecretRef"],  # a scheme and a field of 0.9.6
        },
        warned={
            "LK305": 1,  # an AMD GPU, the accelerator left out
            "LK326": 1,  # hf://org/repo/file
            "LK327": 1,
            "LK334": 10,  # resources, which no controller reads, in one case with gpu.memory
        },
    ),
    "llmkube/0.9.19-docs/Model.yaml": Expected(
        documents=12,
        denied={
            16: ["spec.prefetch"],
            58: ["spec.sha256"],  # a placeholder
            90: ["spec.source"],  # a fragment that shows memoryBudget
        },
        warned={
            "LK304": 1,  # accelerator: cuda with no gpu block, which requests no GPU
            "LK305": 1,
            "LK326": 1,
            "LK327": 2,
            "LK334": 2,
            "LK336": 1,
        },
    ),
}


@pytest.mark.parametrize(("path", "expected"), FILES.items(), ids=FILES)
def test_samples_of_llmkube_llmaz_and_llmd_get_the_expected_causes_and_warnings(
    path: str, expected: Expected, loaded: Catalog
) -> None:
    check(path, expected, loaded)


@pytest.mark.parametrize("folder", ["aim/doc-revision", "llmaz/main", "llmkube/0.9.19", "ome/doc-era", "ome/head"])
def test_a_sample_that_is_accepted_gets_at_most_one_warning_on_average(folder: str, loaded: Catalog) -> None:
    files = sorted(shared("samples", *folder.split("/")).glob("*.yaml"))
    assert files
    assert warnings_each([verdict for file in files for verdict in verdicts(file, loaded)]) <= 1


def test_every_sample_of_a_kind_that_is_known_is_expected(loaded: Catalog) -> None:
    apis = {known.api for known in loaded.kinds.values() if known.policy.codes}
    root = shared("samples")
    files = {str(file.relative_to(root)) for api in apis for file in root.glob(f"{api}/*/*.yaml")}
    assert files == {*FILES, *(f"aim/{path}" for path in OF_AIM), *OF_OME, *FRAGMENTS}
