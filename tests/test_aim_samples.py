"""AIM's own manifests get the right verdict, each folder seen as one cluster."""

import pytest

from tests.samples import Expected, check
from webhook.catalog import Catalog

FILES: dict[str, Expected] = {
    "a5ef626b/AIMClusterImage.yaml": Expected(
        15,
        denied={57: ["spec.resources"]},  # of the release after, which asks for none
        warned={"AI421": 4},
    ),
    "a5ef626b/AIMClusterServiceTemplate.yaml": Expected(19, warned={"AI343": 1, "AI441": 7}),
    "a5ef626b/AIMImage.yaml": Expected(2, warned={"AI421": 1}),
    "a5ef626b/AIMService.yaml": Expected(10, warned={"AI402": 2, "AI403": 2, "AI417": 5}),
    "doc-revision/AIMClusterImage.yaml": Expected(4, warned={"AI421": 2}),
    "doc-revision/AIMClusterRuntimeConfig.yaml": Expected(1),
    "doc-revision/AIMClusterServiceTemplate.yaml": Expected(8, warned={"AI441": 6, "": 1}),  # one without spec
    "doc-revision/AIMImage.yaml": Expected(1),
    "doc-revision/AIMRuntimeConfig.yaml": Expected(4),
    "doc-revision/AIMService.yaml": Expected(
        22, warned={"AI401": 1, "AI405": 3, "AI406": 2, "AI407": 1, "AI408": 1, "AI417": 18}
    ),
    "doc-revision/AIMServiceTemplate.yaml": Expected(3, warned={"AI431": 2}),
    "doc-revision-docs/AIMClusterImage.yaml": Expected(
        2,
        denied={
            3: ["spec.modelId"],  # the name of the model in an earlier release
            20: ["spec.runtimeConfigName"],  # of a later release
        },
        warned={"AI322": 2},
    ),
    "doc-revision-docs/AIMClusterRuntimeConfig.yaml": Expected(1),
    "doc-revision-docs/AIMClusterServiceTemplate.yaml": Expected(
        2,
        denied={3: ["spec.aimImageName", "spec.modelId"]},  # the name of the image in an earlier release
        warned={"AI342": 1, "AI442": 1},
    ),
    "doc-revision-docs/AIMImage.yaml": Expected(
        1,
        denied={3: ["spec.runtimeConfigName"]},  # of a later release
        warned={"AI322": 1, "AI421": 1},
    ),
    "doc-revision-docs/AIMRuntimeConfig.yaml": Expected(2, warned={"AI471": 1}),
    "doc-revision-docs/AIMService.yaml": Expected(
        7,
        denied={  # names of the image in earlier releases
            3: ["spec.aimImageName", "spec.aimModelId"],
            13: ["spec.aimImageName", "spec.aimModelId"],
            23: ["spec.aimImageName", "spec.aimModelId"],
            38: ["spec.aimImageName", "spec.aimModelId"],
            50: ["spec.aimImageName", "spec.modelId"],
            65: ["spec.aimImageName", "spec.aimModelId"],
        },
        warned={"AI209": 1, "AI307": 6, "AI404": 1, "AI406": 1},
    ),
    "doc-revision-docs/AIMServiceTemplate.yaml": Expected(
        5,
        denied={  # the name of the image in an earlier release
            3: ["spec.aimImageName", "spec.modelId"],
            17: ["spec.aimImageName", "spec.modelId"],
            33: ["spec.aimImageName", "spec.modelId"],
        },
        warned={"AI334": 3, "AI431": 2, "AI432": 2},
    ),
    "doc-revision-docs/AIMTemplateCache.yaml": Expected(1),
}


@pytest.mark.parametrize(("path", "expected"), FILES.items(), ids=FILES)
def test_samples_of_aim_get_the_expected_causes_and_warnings(path: str, expected: Expected, loaded: Catalog) -> None:
    check(f"aim/{path}", expected, loaded)
