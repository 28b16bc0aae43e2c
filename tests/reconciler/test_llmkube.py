"""The projection of a Model: tables of source → status, and the laws of conditions."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.conditions import find
from reconciler.llmkube import CLAIM, CLAIM_TEMPLATE, NODE, VOLUME_CLAIM, facts, lookups, project
from reconciler.projection import Lookup, Observed
from tests.reconciler.models import NOW, model, node, volume_claim
from webhook.cluster.view import MemoryView

BOUND = volume_claim("my-claim", "Bound")
METAL = {"accelerator": "metal"}


def observed(*objects, now=NOW, unknown=()):
    return Observed(now, MemoryView(objects), frozenset(unknown))


def projected(obj, *objects, roots=(), unknown=(), now=NOW):
    seen = observed(*objects, now=now, unknown=unknown)
    return project(obj, facts(obj, seen.view), seen, allowed_roots=roots)


def true_condition(status):
    (true,) = [item for item in status["conditions"] if item["status"] == "True"]
    return true["type"], true["reason"]


def device_claim(kind, name):
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}}


@pytest.mark.parametrize(
    ("spec", "reason", "path", "key"),
    [
        ({"source": "https://example.com/model.gguf"}, "WorkloadResolved", "", "8cc5f1f83d631cc0"),
        ({"source": "HTTP://example.com/m.gguf"}, "WorkloadResolved", "", "148e701461fb7ba3"),
        ({"source": "https://example.com/model.gguf", "hardware": METAL}, "WorkloadResolved", "", "8cc5f1f83d631cc0"),
        ({"source": "hf://org/repo"}, "RuntimeResolved", "", ""),
        ({"source": "hf://org/repo@main"}, "RuntimeResolved", "", ""),
        ({"source": "Qwen/Qwen2.5-0.5B-Instruct"}, "RuntimeResolved", "", ""),
        ({"source": "hf://org/repo", "hardware": METAL}, "RuntimeResolved", "", ""),
        # before 0.9.13 a web address of a repository is a file like any other
        (
            {"source": "https://huggingface.co/Qwen/Qwen3.6-35B-A3B?library=vllm"},
            "WorkloadResolved",
            "",
            "8b0ee6242e7374a6",
        ),
        ({"source": "pvc://my-claim/model.gguf"}, "PVCModelReady", "/model-source/model.gguf", "066676a27d95d0e9"),
        (
            {"source": "pvc://my-claim/models/llama/7b/m.gguf"},
            "PVCModelReady",
            "/model-source/models/llama/7b/m.gguf",
            ...,
        ),
        (
            {"source": "/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf"},
            "WorkloadResolved",
            "/models/Llama-3.2-3B-Instruct-Q4_K_M.gguf",
            ...,
        ),
        ({"source": "file:///models/m.gguf"}, "WorkloadResolved", "/models/m.gguf", ...),
        ({"source": "/models/m.gguf", "hardware": METAL}, "MetalAgentManaged", "", ""),
    ],
)
def test_a_source_that_can_be_served_is_ready(spec, reason, path, key):
    status = projected(model(**spec), BOUND, roots=["/models"]).status
    assert status["phase"] == "Ready"
    assert true_condition(status) == ("Available", reason)
    assert status.get("path", "") == path
    assert key in {..., status.get("cacheKey", "")}
    assert status["size"] == "0"
    assert status["lastUpdated"] == "2026-11-21T12:00:00Z"


@pytest.mark.parametrize(
    ("spec", "reason", "requeue", "message"),
    [
        ({"source": "/m.gguf"}, "SourceNotAllowed", None, "no allowed host path roots are configured"),
        ({"source": "/m.gguf", "hardware": METAL}, "SourceNotAllowed", None, "refusing source"),
        ({"source": "file://rel/x"}, "SourceNotAllowed", None, "must be an absolute path"),
        (
            {"source": "hf://unsloth/gemma-4-31B-it-GGUF", "mmproj": "mmproj-F16.gguf"},
            "InvalidFileSet",
            300,
            "spec.files must include a primary model file",
        ),
        (
            {"source": "pvc://my-claim/model.gguf", "files": ["model-00001-of-00003.gguf"]},
            "InvalidFileSet",
            300,
            "multi-file staging requires a HuggingFace repo source",
        ),
        ({"source": "https://e.com/m.gguf", "files": ["m.gguf"]}, "InvalidFileSet", 300, "multi-file staging requires"),
        ({"source": "hf://o/r", "files": ["*.gguf"]}, "InvalidFileSet", 300, 'glob pattern "*.gguf"'),
        ({"source": "hf://o/r", "files": ["../x"]}, "InvalidFileSet", 300, 'invalid repo-relative path "../x"'),
        ({"source": "pvc://my-claim/"}, "InvalidSource", None, "empty file path"),
        ({"source": "pvc://my-claim"}, "InvalidSource", None, "must include a file path"),
        ({"source": "pvc://"}, "InvalidSource", None, "empty PVC source"),
        ({"source": "pvc:///x"}, "InvalidSource", None, "empty claim name"),
        ({"source": "hf://o/r@"}, "InvalidSource", None, "empty revision"),
        ({"source": "hf://just-a-name"}, "InvalidSource", None, "hf://just-a-name"),
        ({"source": "word"}, "InvalidSource", None, "word"),
        ({"source": "pvc://nowhere/m"}, "PVCNotFound", 30, 'PVC "nowhere" not found in namespace "default"'),
    ],
)
def test_a_source_that_cannot_be_served_fails_and_says_why(spec, reason, requeue, message):
    projection = projected(model(**spec), BOUND)
    assert projection.status["phase"] == "Failed"
    assert true_condition(projection.status) == ("Degraded", reason)
    assert message in find(projection.status["conditions"], "Degraded")["message"]
    assert projection.requeue == requeue
    assert [(event.type, event.reason) for event in projection.events] == [("Warning", reason)]
    assert not {"path", "cacheKey", "stagedFiles", "lastUpdated", "size"} & projection.status.keys()


@pytest.mark.parametrize("phase", ["Pending", "Lost"])
def test_a_claim_that_is_not_bound_is_waited_for(phase):
    projection = projected(model(source="pvc://c/m.gguf"), volume_claim("c", phase))
    assert projection.status["phase"] == "Pending"
    assert true_condition(projection.status) == ("Progressing", "PVCNotBound")
    assert find(projection.status["conditions"], "Progressing")["message"] == (
        f'PVC "c" is {phase}, waiting for it to be Bound'
    )
    assert projection.requeue == 10
    assert projection.events == ()


def test_a_claim_that_could_not_be_read_leaves_the_status_as_it_is():
    projection = projected(model(source="pvc://c/m"), unknown=[Lookup(VOLUME_CLAIM, "default", "c")])
    assert projection.status is None
    assert projection.requeue == 10


def test_staged_files_are_the_files_and_the_projector_without_repetition():
    files = ["model.gguf", "extra.gguf", "model.gguf"]
    status = projected(model(files=files, mmproj="mmproj-F16.gguf")).status
    assert status["stagedFiles"] == ["model.gguf", "extra.gguf", "mmproj-F16.gguf"]
    assert "stagedFiles" not in projected(model()).status


NVIDIA = node("n", **{"cpu": "8", "nvidia.com/gpu": "2"})
AMD = node("n", **{"amd.com/gpu": "1"})
RENDER = node("n", **{"devic.es/dri-render": "1"})
INTEL = node("n", **{"gpu.intel.com/i915": "1"})
CPU = node("n", cpu="8")
CLAIMED = [{"name": "gpu", "resourceClaimName": "gpu-claim"}]
TEMPLATED = [{"name": "gpu", "resourceClaimTemplateName": "gpu-template"}]


@pytest.mark.parametrize(
    ("hardware", "objects", "ready"),
    [
        (None, [], True),
        ({}, [], True),
        ({"accelerator": "cpu", "gpu": {"count": 2}}, [CPU], True),
        ({"accelerator": "cpu", "gpu": {"resourceClaims": CLAIMED}}, [], True),
        ({"accelerator": "metal"}, [], True),
        ({"accelerator": "cuda"}, [CPU], False),
        ({"accelerator": "cuda"}, [], False),
        ({"accelerator": "cuda"}, [CPU, {**NVIDIA, "metadata": {"name": "o"}}], True),
        ({"accelerator": "cuda"}, [node("n", **{"nvidia.com/gpu": "0"})], False),
        ({"accelerator": "cuda", "gpu": {"vendor": "amd"}}, [AMD], False),
        ({"accelerator": "rocm"}, [AMD], True),
        ({"accelerator": "rocm"}, [RENDER], False),
        (
            {"accelerator": "rocm", "gpu": {"resourceName": "squat.ai/dri-render"}},
            [node("n", **{"squat.ai/dri-render": "1"})],
            True,
        ),
        ({"accelerator": "vulkan"}, [RENDER], True),
        ({"accelerator": "vulkan", "gpu": {"vendor": "intel"}}, [INTEL], False),
        ({"accelerator": "vulkan", "gpu": {"vendor": "intel"}}, [RENDER], True),
        ({"accelerator": "intel"}, [INTEL], True),
        ({"accelerator": "intel"}, [NVIDIA], False),
        ({"accelerator": "cuda", "gpu": {"resourceClaims": CLAIMED}}, [NVIDIA], False),
        (
            {"accelerator": "cuda", "gpu": {"resourceClaims": CLAIMED}},
            [device_claim("ResourceClaim", "gpu-claim")],
            True,
        ),
        (
            {"accelerator": "cuda", "gpu": {"resourceClaims": CLAIMED + TEMPLATED}},
            [device_claim("ResourceClaim", "gpu-claim")],
            False,
        ),
        (
            {"accelerator": "rocm", "gpu": {"resourceClaims": TEMPLATED}},
            [device_claim("ResourceClaimTemplate", "gpu-template")],
            True,
        ),
        (
            {"accelerator": "rocm", "gpu": {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": ""}]}},
            [device_claim("ResourceClaimTemplate", "gpu-template")],
            False,
        ),
    ],
)
def test_the_accelerator_is_ready_where_a_node_or_a_claim_has_it(hardware, objects, ready):
    obj = model() if hardware is None else model(hardware=hardware)
    status = projected(obj, *objects).status
    assert status["acceleratorReady"] is ready
    assert status["phase"] == "Ready"  # it only informs


@pytest.mark.parametrize(
    ("hardware", "unknown"),
    [
        ({"accelerator": "cuda"}, Lookup(NODE, "")),
        ({"accelerator": "cuda", "gpu": {"resourceClaims": CLAIMED}}, Lookup(CLAIM, "default", "gpu-claim")),
    ],
)
def test_an_accelerator_that_could_not_be_looked_for_counts_as_ready(hardware, unknown):
    assert projected(model(hardware=hardware), unknown=[unknown]).status["acceleratorReady"]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, []),
        ({"source": "pvc://c/m"}, [Lookup(VOLUME_CLAIM, "default", "c")]),
        ({"source": "pvc://c"}, []),
        ({"hardware": {"accelerator": "cuda"}}, [Lookup(NODE, "")]),
        ({"hardware": {"accelerator": "cpu", "gpu": {"resourceClaims": CLAIMED}}}, []),
        (
            {
                "source": "pvc://c/m",
                "hardware": {"accelerator": "rocm", "gpu": {"resourceClaims": CLAIMED + TEMPLATED}},
            },
            [
                Lookup(VOLUME_CLAIM, "default", "c"),
                Lookup(CLAIM, "default", "gpu-claim"),
                Lookup(CLAIM_TEMPLATE, "default", "gpu-template"),
            ],
        ),
    ],
)
def test_only_what_matters_is_looked_up(spec, wanted):
    assert lookups(model(**spec)) == wanted


def test_an_accelerator_is_looked_for_again_since_nodes_come_and_go():
    assert projected(model(hardware={"accelerator": "cuda"})).requeue == 300
    assert projected(model(source="pvc://no/m", hardware={"accelerator": "cuda"})).requeue == 30
    assert projected(model()).requeue is None


def after(obj, projection, generation=1):
    return {**obj, "metadata": {**obj["metadata"], "generation": generation}, "status": projection.status}


LATER = NOW + timedelta(hours=1)


def test_the_second_projection_says_the_same_as_the_first():
    first = projected(model(source="pvc://my-claim/m"), BOUND)
    again = projected({**model(source="pvc://my-claim/m"), "status": first.status}, BOUND, now=LATER)
    assert again.status == first.status


def test_transition_times_move_only_where_the_status_flips():
    obj = model(source="pvc://my-claim/m")
    waiting = projected(obj, volume_claim("my-claim", "Pending"))
    ready = projected({**obj, "status": waiting.status}, BOUND, now=LATER)
    times = {item["type"]: (item["status"], item["lastTransitionTime"]) for item in ready.status["conditions"]}
    assert times == {
        "Available": ("True", "2026-11-21T13:00:00Z"),
        "Progressing": ("False", "2026-11-21T13:00:00Z"),
        "Degraded": ("False", "2026-11-21T12:00:00Z"),
    }


def test_a_changed_source_of_a_ready_model_is_taken_up():
    first = projected(model(source="https://a/m"))
    changed = after(model(source="https://b/m"), first, generation=2)
    second = projected(changed, now=LATER)
    assert second.status["cacheKey"] != first.status["cacheKey"]
    assert second.status["lastUpdated"] == "2026-11-21T13:00:00Z"
    assert {item["observedGeneration"] for item in second.status["conditions"]} == {2}
    assert find(second.status["conditions"], "Available")["lastTransitionTime"] == "2026-11-21T12:00:00Z"


def test_a_ready_model_that_comes_to_fail_is_no_longer_available_and_keeps_when_it_last_was():
    ready = projected(model())
    failed = projected(after(model(source="word"), ready, generation=2), now=LATER)
    assert find(failed.status["conditions"], "Available")["status"] == "False"
    assert failed.status["lastUpdated"] == ready.status["lastUpdated"]
    corrected = projected(after(model(), failed, generation=3), now=LATER + timedelta(hours=1))
    assert find(corrected.status["conditions"], "Degraded")["status"] == "False"
    assert corrected.status["lastUpdated"] == "2026-11-21T14:00:00Z"


def test_a_failure_is_told_once_and_again_when_its_reason_changes():
    obj = model(source="pvc://c/m")
    first = projected(obj)
    assert projected({**obj, "status": first.status}).events == ()
    other = projected(after(model(source="word"), first, generation=2))
    assert [event.reason for event in other.events] == ["InvalidSource"]


sources = st.sampled_from(
    ["hf://o/r", "word", "/models/m", "/etc/passwd", "https://a/b", "pvc://my-claim/m", "pvc://c/m", "pvc://c"]
)
hardwares = st.sampled_from([{}, METAL, {"accelerator": "cuda"}, {"accelerator": "rocm", "gpu": {"vendor": "amd"}}])
specs = st.fixed_dictionaries({"source": sources, "hardware": hardwares}, optional={"files": st.just(["a"])})


@given(specs, specs)
def test_a_projection_forgets_nothing_and_invents_nothing_whatever_was_before(before, spec):
    """The status depends on the past only in its times: every state can be entered from and left to any other."""
    first = projected(model(**before), BOUND, AMD, roots=["/models"])
    fresh = projected(after(model(**spec), projected(model(**spec)), 2), BOUND, AMD, roots=["/models"])
    led = projected(after(model(**spec), first, 2), BOUND, AMD, roots=["/models"], now=LATER)

    def timeless(status):
        conditions = [{k: v for k, v in item.items() if k != "lastTransitionTime"} for item in status["conditions"]]
        return {**{k: v for k, v in status.items() if k != "lastUpdated"}, "conditions": conditions}

    assert timeless(led.status) == timeless(fresh.status)
    assert [item["status"] for item in led.status["conditions"]].count("True") == 1
