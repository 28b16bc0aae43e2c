"""Laws of the engine: it is total and idempotent, touches nothing of the user's, and never blocks a deletion."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import load
from tests.laws import examples
from webhook import catalog, engine
from webhook.admission import patch
from webhook.admission.decision import Decision, GroupVersionKind, Request
from webhook.admission.errors import DeadlineExceeded, Malformed
from webhook.admission.stamp import ANNOTATION, Stamp
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.policy import Action, Profile

MODEL = GroupVersionKind("inference.llmkube.dev", "v1alpha1", "Model")
LOADED = catalog.load()
VIEW = MemoryView()

law = settings(max_examples=examples(2000))

texts = st.sampled_from(["", "a", "hf://org/repo", "/models/m.gguf", "pvc://c/m.gguf", "8Gi", "nvidia.com/gpu", "0-3"])
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


def maybe(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


gpus = maybe(
    enabled=st.booleans(),
    count=st.integers(0, 9),
    vendor=st.sampled_from(["nvidia", "amd", "intel"]),
    runtime=st.sampled_from(["vulkan", "rocm"]),
    resourceName=st.sampled_from(["nvidia.com/gpu", "amd.com/gpu", "squat.ai/dri-render"]),
    tolerationKey=st.sampled_from(["nvidia.com/gpu", "a/b"]),
    resourceClaims=st.lists(st.just({"name": "gpu", "resourceClaimName": "c"}), max_size=2),
    memory=texts,
    layers=st.integers(-2, 3),
    sharding=maybe(strategy=st.sampled_from(["layer", "row", "pipeline"]), layerSplit=st.lists(texts, max_size=3)),
)
hardware = maybe(
    accelerator=st.sampled_from(["cpu", "metal", "cuda", "rocm", "intel", "vulkan"]),
    gpu=gpus,
    memoryBudget=texts,
    memoryFraction=st.floats(-1, 2),
)
specs = st.fixed_dictionaries(
    {"source": texts},
    optional={
        "files": st.lists(texts, max_size=3),
        "mmproj": texts,
        "format": st.sampled_from(["gguf", "mlx", "safetensors"]),
        "sha256": st.just("0" * 64),
        "hardware": hardware,
        "resources": maybe(cpu=texts, memory=texts),
        "refreshPolicy": st.none(),
    },
)


def a_model(spec: Any, **metadata: Any) -> dict[str, Any]:
    api_version = f"{MODEL.group}/{MODEL.version}"
    return {"apiVersion": api_version, "kind": "Model", "metadata": {"name": "m", **metadata}, "spec": spec}


def creation(obj: dict[str, Any]) -> Request:
    return Request(MODEL, "models", "CREATE", obj)


def update(old: dict[str, Any], obj: dict[str, Any]) -> Request:
    return Request(MODEL, "models", "UPDATE", obj, old)


def mutated(request: Request) -> dict[str, Any]:
    obj = engine.mutate(request, LOADED, VIEW).object
    assert obj is not None
    return obj


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if isinstance(value, dict) and value:
        return {k: v for key, item in value.items() for k, v in leaves(item, (*path, key)).items()}
    return {path: value}


@law
@given(specs)
def test_mutation_is_idempotent(spec: dict[str, Any]) -> None:
    once = mutated(creation(a_model(spec)))
    assert mutated(creation(once)) == once
    if engine.validate(creation(once), LOADED, VIEW).allowed:
        assert mutated(update(once, once)) == once


@law
@given(specs, specs)
def test_being_called_again_for_the_same_update_changes_nothing(first: Any, second: Any) -> None:
    """The API server reinvokes a mutating webhook when a later one has changed the object."""
    for old in (a_model(first), mutated(creation(a_model(first)))):
        once = mutated(update(old, a_model(second)))
        assert mutated(update(old, once)) == once


@law
@given(specs)
def test_a_users_value_is_never_changed(spec: dict[str, Any]) -> None:
    after = leaves(mutated(creation(a_model(spec)))["spec"])
    for path, value in leaves(spec).items():
        if value is None or (path == ("hardware", "accelerator") and value == "cpu"):
            continue  # null counts as absent, and cpu is the schema's default
        if value == {}:
            continue  # may receive defaults
        assert patch.diff(value, after[path]) == []


@law
@given(specs)
def test_nothing_but_defaults_and_the_stamp_is_touched(spec: dict[str, Any]) -> None:
    known = LOADED.find(MODEL)
    assert known is not None
    allowed = {patch.pointer(*rule.path.keys) for rule in known.policy.defaults}
    schema = {"/spec/format", "/spec/refreshPolicy", "/spec/hardware/accelerator", "/spec/hardware/gpu/vendor"}
    schema |= {"/spec/hardware/gpu/sharding/strategy", "/metadata/annotations"}
    before = a_model(spec, labels={"a": "b"}, managedFields=[{"manager": "x"}], finalizers=["f"])
    before["status"] = {"phase": "Ready", "unknown": 1}
    touched = {operation["path"] for operation in patch.diff(before, mutated(creation(before)))}
    assert touched <= allowed | schema


@law
@given(specs, specs)
def test_what_was_derived_follows_its_inputs_and_leaves_nothing_behind(first: Any, second: Any) -> None:
    """An update ends where a creation would, if the user leaves to us what was left to us before."""
    second.get("hardware", {}).pop("accelerator", None)
    for field in ("resourceName", "tolerationKey"):
        second.get("hardware", {}).get("gpu", {}).pop(field, None)
    stored = mutated(creation(a_model(first)))
    fresh = mutated(creation(a_model(second)))
    annotations = stored["metadata"]["annotations"]
    updated = mutated(update(stored, a_model(second, annotations=annotations)))
    assert updated["spec"] == fresh["spec"]
    assert Stamp.read(updated).defaulted == Stamp.read(fresh).defaulted  # type: ignore[union-attr]


@given(json)
def test_mutation_and_validation_are_total(spec: Any) -> None:
    for request in (creation(a_model(spec)), update(a_model(spec), a_model({"source": "a/b"})), creation(a_model({}))):
        obj = engine.mutate(request, LOADED, VIEW).object
        decision = engine.validate(replace(request, object=obj), LOADED, VIEW)
        assert isinstance(decision, Decision)


@given(specs, json)
def test_a_forged_stamp_takes_nothing_from_the_user(spec: Any, forged: Any) -> None:
    """A user-supplied annotation cannot make the gate change a field that it does not default."""
    text = Stamp("0" * 64, "x", {"spec.source": spec["source"], "metadata": forged}).encode()
    after = mutated(creation(a_model(spec, annotations={ANNOTATION: text})))
    assert after["spec"]["source"] == spec["source"]
    assert after["metadata"]["annotations"][ANNOTATION] != text


def test_a_dry_run_gives_the_same_answer() -> None:
    request = creation(a_model({"source": "a/b", "hardware": {"gpu": {"count": 1, "vendor": "amd"}}}))
    dry = replace(request, dry_run=True)
    assert engine.mutate(request, LOADED, VIEW) == engine.mutate(dry, LOADED, VIEW)
    assert engine.validate(request, LOADED, VIEW) == engine.validate(dry, LOADED, VIEW)


def test_every_object_is_stamped_and_the_stamp_fits() -> None:
    obj = mutated(creation(a_model({"source": "a/b", "hardware": {"gpu": {"count": 1}}})))
    stamp = Stamp.read(obj)
    assert stamp is not None
    assert stamp.matches(obj)
    assert stamp.catalog == LOADED.digest
    assert stamp.defaulted["spec.hardware.gpu.resourceName"] == "nvidia.com/gpu"


def test_an_object_that_is_being_deleted_may_always_lose_its_finalizers() -> None:
    invalid = a_model({"source": 1}, deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["f"])
    request = update(invalid, a_model({"source": 1}, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert engine.mutate(request, LOADED, VIEW).object is request.object
    assert engine.validate(request, LOADED, VIEW).allowed


def test_a_deletion_timestamp_of_the_users_own_opens_no_door() -> None:
    request = creation(a_model({"source": 1}, deletionTimestamp="2026-01-01T00:00:00Z"))
    assert not engine.validate(request, LOADED, VIEW).allowed


@pytest.mark.parametrize(
    "request_",
    [
        Request(MODEL, "models", "DELETE", None, a_model({})),
        Request(MODEL, "models", "DELETE", a_model({}), a_model({})),
        Request(MODEL, "models", "UPDATE", a_model({}), a_model({}), subresource="status"),
        Request(MODEL, "models", "CONNECT", None),
        Request(GroupVersionKind("apps", "v1", "Deployment"), "deployments", "CREATE", {"metadata": {}}),
        Request(GroupVersionKind(MODEL.group, "v9", "Model"), "models", "CREATE", a_model({})),
    ],
    ids=["delete", "delete with an object", "status", "connect", "other kind", "other version"],
)
def test_what_the_gate_has_no_say_in_passes_untouched(request_: Request) -> None:
    assert engine.mutate(request_, LOADED, VIEW).object is request_.object
    assert engine.validate(request_, LOADED, VIEW) == Decision(request_.object)


def test_a_request_for_another_resource_than_the_kinds_is_malformed() -> None:
    with pytest.raises(Malformed, match=r'is "model", but .* is served as "models"'):
        engine.validate(Request(MODEL, "model", "CREATE", a_model({})), LOADED, VIEW)


def test_an_update_that_does_not_touch_an_invalid_field_is_not_refused_for_it() -> None:
    old = a_model({"source": "ollama://x", "refreshPolicy": "IfNotPresent"})
    decision = engine.validate(
        update(old, a_model({"source": "ollama://x", "refreshPolicy": "OnChange"})), LOADED, VIEW
    )
    assert decision.allowed
    decision = engine.validate(update(old, a_model({"source": "ollama://y"})), LOADED, VIEW)
    assert [cause.field for cause in decision.causes] == ["spec.source"]


def test_a_rule_spares_what_an_update_leaves_as_it_is() -> None:
    """As the schema does in the test above: here it is a rule of the policy that refuses the value."""
    strict = Options(profile=Profile.STRICT)
    old = a_model({"source": "pvc://weights", "refreshPolicy": "IfNotPresent"})
    left = engine.validate(update(old, a_model({**old["spec"], "refreshPolicy": "OnChange"})), LOADED, VIEW, strict)
    assert left.allowed
    assert "not refused, because this update does not change it" in str(left.warnings)
    changed = engine.validate(update(old, a_model({"source": "pvc://other"})), LOADED, VIEW, strict)
    assert [cause.field for cause in changed.causes] == ["spec.source"]


def test_the_audit_profile_only_warns() -> None:
    request = creation(a_model({"source": 1, "format": "x"}))
    decision = engine.validate(request, LOADED, VIEW, Options(profile=Profile.AUDIT))
    assert decision.allowed
    assert any("would be refused" in warning.message for warning in decision.warnings)


def test_unknown_fields_are_warnings_in_a_webhook_and_errors_offline() -> None:
    request = creation(a_model({"source": "a/b", "prefetch": True}))
    webhook = engine.validate(request, LOADED, VIEW)
    assert webhook.allowed
    assert [warning.field for warning in webhook.warnings if not warning.code] == ["spec.prefetch"]
    offline = engine.validate(request, LOADED, VIEW, Options(strict_fields=True))
    (cause,) = offline.causes
    assert str(cause).startswith("spec.prefetch: unknown field; prefetch is a field of LLMKube 0.9.11 and later")


def test_a_default_goes_into_no_place_where_something_else_is() -> None:
    """As a label into labels that are a text, which only a file can have."""
    obj = {
        "apiVersion": "llmaz.io/v1alpha1",
        "kind": "OpenModel",
        "metadata": {"name": "m", "labels": "text"},
        "spec": {"familyName": "f", "source": {"uri": "ollama://m"}},
    }
    request = Request(GroupVersionKind("llmaz.io", "v1alpha1", "OpenModel"), "openmodels", "CREATE", obj)
    after = mutated(request)
    assert after["metadata"]["labels"] == "text"
    refused = engine.validate(replace(request, object=after), LOADED, VIEW)
    assert [cause.field for cause in refused.causes] == ["metadata.labels"]


@pytest.fixture
def looks_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reviews that look at the clock at each step."""
    monkeypatch.setattr("webhook.ground.budget.EVERY", 0)


@pytest.mark.usefixtures("looks_each_time")
def test_a_deadline_is_met_between_steps() -> None:
    def over(step: str) -> None:
        raise DeadlineExceeded(step)

    request = creation(a_model({"source": "a/b"}))
    with pytest.raises(DeadlineExceeded, match="schema"):
        engine.validate(request, LOADED, VIEW, Options(checkpoint=over))


@pytest.mark.usefixtures("looks_each_time")
def test_a_deadline_is_met_between_rules_and_names_the_one_that_comes_next() -> None:
    steps: list[str] = []
    request = creation(a_model({"source": "a/b", "files": ["a", "../b"]}))
    known = LOADED.kinds[MODEL]
    one_by_one = LOADED.with_kind(replace(known, policy=replace(known.policy)))
    options = Options(checkpoint=steps.append)
    engine.validate(request, one_by_one, VIEW, options)
    assert steps[:3] == ["schema", "rules", "LK201"]
    assert steps.count("LK213") == 2  # once for each file
    steps.clear()
    LOADED.prepared(LOADED.kinds[MODEL]).prepare()
    engine.validate(request, LOADED, VIEW, options)
    assert steps[:2] == ["schema", "rules"]  # one function for all, whose cost is bounded
    assert steps.count("LK213") == 2
    assert "LK201" not in steps


def test_of_a_million_mistakes_a_thousand_are_named() -> None:
    def judged(**spec: Any) -> Decision:
        return engine.validate(creation(a_model({"source": "a/b", **spec})), LOADED, VIEW)

    assert 1000 <= len(judged(files=[5] * 5_000).causes) < 3000
    assert 1000 <= len(judged(files=["../x"] * 5_000).warnings) < 3000
    strange = judged(**{f"sour{'_' * n}ce": 1 for n in range(1, 300)})
    assert len([each for each in strange.warnings if "did you mean source" in each.message]) == 100


def test_very_many_warnings_hide_no_refusal() -> None:
    """More warnings than the limit do not hide an error."""
    known = LOADED.kinds[MODEL]
    (warning,) = (rule for rule in known.policy.validations if rule.code == "LK213")
    refusal = replace(warning, code="LK999", action=Action.DENY)
    policy = replace(known.policy, validations=(warning, refusal))
    loaded = LOADED.with_kind(replace(known, policy=policy))
    obj = a_model({"source": "hf://a/b", "files": ["../x"] * 1_500})
    decision = engine.validate(creation(obj), loaded, VIEW)
    assert [each.code for each in decision.causes] == ["LK999"] * 1_000
    assert [each.code for each in decision.warnings] == ["LK213"] * 1_000


def test_items_are_found_again_in_whatever_order_they_are_stored() -> None:
    """Each of very many: to look through all of them for each would take hours."""
    stored = {"source": "hf://a/b", "files": ["../bad", *map(str, range(30_000))]}
    turned = {**stored, "files": [*stored["files"][::-1], "../new"]}
    decision = engine.validate(update(a_model(stored), a_model(turned)), LOADED, VIEW, Options(profile=Profile.STRICT))
    assert [cause.field for cause in decision.causes if "[" in cause.field] == ["spec.files[30001]"]


@pytest.mark.parametrize(
    "spec", [{"model": {"name": "unknown"}, "engine": {}}, {"predictor": {"model": {"baseModel": "unknown"}}}]
)
def test_who_sees_no_other_objects_does_not_judge_references(spec: dict[str, Any]) -> None:
    """Without a view of the cluster a model that is not known may well be there."""
    gvk = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
    service = {
        "apiVersion": "ome.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "s", "namespace": "default"},
        "spec": spec,
    }
    request = Request(gvk, "inferenceservices", "CREATE", service, namespace="default")
    seeing = engine.validate(request, LOADED, VIEW)
    assert any(cause.code.startswith("OM4") for cause in seeing.causes)
    blind = engine.validate(request, LOADED, VIEW, Options(references=False))
    assert blind.allowed
    assert not any(item.code.startswith("OM4") for item in (*blind.causes, *blind.warnings))


def validated(spec: dict[str, Any], options: Options = Options()) -> Decision:  # noqa: B008 - immutable
    obj = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model", "metadata": {"name": "m"}, "spec": spec}
    return engine.validate(Request(MODEL, "models", "CREATE", obj, name="m"), LOADED, MemoryView(), options)


def test_a_rule_explains_the_error_of_the_schema_in_one_finding():
    decision = validated({"source": "ab c"})
    (cause,) = decision.causes
    raw, _, _ = LOADED.find(MODEL).schema.check({"spec": {"source": "ab c"}})
    assert [cause.message] == [error.body() for error in raw]  # the API server's words, as it would send them
    assert [hint.code for hint in cause.hints] == ["LK201"]
    assert cause.text == f"{cause.message}; {cause.hints[0]}"
    assert decision.warnings == ()
    assert decision.audit["codes"] == "schema,LK201"


def test_a_field_that_the_schema_refuses_gets_no_other_finding():
    decision = validated({"source": "/models/my model.gguf", "sha256": "short"})
    assert [(cause.field, cause.hints) for cause in decision.causes] == [("spec.source", ()), ("spec.sha256", ())]
    assert decision.warnings == ()


def test_a_hint_comes_first_in_a_warning_which_may_be_cut():
    (warning,) = validated({"source": "ab c"}, Options(Profile.AUDIT)).warnings
    assert warning.message.startswith('would be refused: "ab c" is not a recognised model source; ')


def test_a_kind_that_two_threads_meet_first_has_all_its_rules_in_both() -> None:
    rules = len(LOADED.kinds[MODEL].policy.validations)
    fresh, together = load(), threading.Barrier(4)  # not the one that all tests share

    def met(_: int) -> int:
        together.wait()
        return len(fresh.kinds[MODEL].policy.validations)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(met, range(4))) == {rules}
