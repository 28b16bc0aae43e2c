"""The projection of a Model: tables of source → status, and the laws of conditions."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from reconciler.projection import Observed
from reconciler.projections.llmkube import project
from reconciler.say.conditions import find
from tests.reconciler.models import NOW, model, node, volume_claim
from webhook.cluster.view import MemoryView

BOUND = volume_claim("my-claim", "Bound")
METAL = {"accelerator": "metal"}


def projected(obj, *objects, roots=(), now=NOW):
    return project(obj, Observed(now, MemoryView(objects)), allowed_roots=roots)


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
