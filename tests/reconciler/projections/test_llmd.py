"""The projection of a VariantAutoscaling: the mathematics of its optimiser, its states, the load from Prometheus."""

import json
import math
from pathlib import Path

import pytest
import yaml

from reconciler.projection import Observed
from reconciler.projections.inferno import Infeasible, Load, Profile, Targets, predict, size
from reconciler.projections.llmd import SYSTEM, _parsed, project, refused
from reconciler.projections.prometheus import Measured, Prometheus
from reconciler.say.conditions import find
from tests.reconciler.models import NOW
from webhook.admission.decision import Cause
from webhook.cluster.view import MemoryView

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "llmd.yaml").read_text())


@pytest.mark.parametrize("row", CASES["sizing"], ids=lambda row: f"{row['of'][0]} {row['slo']} {row['rpm']}")
def test_a_replica_serves_so_much(row):
    profile, targets = Profile(*row["of"]), Targets(*row["slo"])
    if "infeasible" in row:
        with pytest.raises(Infeasible, match=row["infeasible"]):
            size(profile, targets, *row["tokens"])
        return
    sizing = size(profile, targets, *row["tokens"])
    assert sizing.rate == pytest.approx(row["rate"], rel=1e-4)
    assert sizing.binding == row["by"]
    assert math.ceil(row["rpm"] / 60 / sizing.rate) == row["replicas"]
    if "predicted" in row:
        found = predict(profile, Load(row["rpm"], *row["tokens"]), row["replicas"])
        assert found == pytest.approx(row["predicted"], rel=1e-4)


def test_requests_of_one_token_without_input_have_a_finite_rate():
    full = 16 / (5 + 2 * 16) * 1000
    assert 0.98 * full < size(Profile(5, 2, 10, 1.5, 16), Targets(0, 0), 0, 1).rate < full


def test_more_load_never_needs_fewer_replicas_and_never_less_time():
    profile = Profile(20.58, 0.41, 5.2, 0.1, 4)
    times = [predict(profile, Load(rpm, 100, 100), 1) for rpm in range(1, 100, 7)]
    assert times == sorted(times)


def variant(name="v", held=None, accelerator="A100", **more):
    parms = {"decodeParms": {"alpha": "20.58", "beta": "0.41"}, "prefillParms": {"gamma": "5.2", "delta": "0.1"}}
    spec = {
        "modelID": "meta/llama",
        "variantID": f"meta/llama-{accelerator}-4",
        "accelerator": accelerator,
        "acceleratorCount": 4,
        "sloClassRef": {"name": "classes", "key": "premium.yaml"},
        "variantProfile": {"maxBatchSize": 4, "perfParms": parms},
    }
    status = {}
    if held is not None:
        last = {"variantID": spec["variantID"], "accelerator": accelerator, "numReplicas": held}
        status = {"desiredOptimizedAlloc": {**last, "lastRunTime": "2026-01-01T00:00:00Z"}}
    metadata = {"name": name, "namespace": "default", "generation": 2}
    api = {"apiVersion": "llmd.ai/v1alpha1", "kind": "VariantAutoscaling", "metadata": metadata}
    return {**api, "spec": {**spec, **more}, "status": status}


def deployment(replicas, name="v"):
    metadata = {"name": name, "namespace": "default"}
    status = {"replicas": replicas}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "status": status}


def config(name, namespace, data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def service_class(model="meta/llama", tpot=24, ttft=500, priority=1):
    return yaml.safe_dump(
        {"name": "c", "priority": priority, "data": [{"model": model, "slo-tpot": tpot, "slo-ttft": ttft}]}
    )


def measured(rpm=None, age=1.0, error="", served=None):
    if rpm is None:
        return Measured(error=error)
    return Measured(Load(rpm, 100, 100), age, served=served)


def projected(obj, *objects, by=None):
    return project(obj, Observed(NOW, MemoryView([obj, *objects]), by or measured(60)))


COSTS = config("accelerator-unit-costs", SYSTEM, {"A100": json.dumps({"device": "x", "cost": "40.00"})})


@pytest.mark.parametrize("row", CASES["states"], ids=lambda row: row["name"])
def test_a_state(row):
    classes = row.get("classes", {"premium.yaml": {}})
    data = {key: service_class(tpot=row.get("tpot", 24), **more) for key, more in classes.items()}
    objects = [config("classes", "default", data)]
    if row["replicas"] is not None:
        objects.append(deployment(row["replicas"]))
    projection = projected(variant(held=row.get("held")), *objects, by=measured(**row["measured"]))
    status = projection.status
    conditions = [find(status["conditions"], name) for name in ("MetricsAvailable", "OptimizationReady")]
    assert [[each["status"], each["reason"]] for each in conditions] == [row["metrics"], row["optimization"]]
    assert row.get("says", "") in conditions[0]["message"] + conditions[1]["message"]
    assert status.get("desiredOptimizedAlloc", {}).get("numReplicas") == row.get("desired")
    assert {each["observedGeneration"] for each in conditions} == {2}
    gauges = {gauge.name: gauge.value for gauge in projection.gauges}
    if "desired" in row:
        current = row["replicas"]
        assert gauges == {
            "inferno_desired_replicas": row["desired"],
            "inferno_current_replicas": current,
            "inferno_desired_ratio": row["desired"] / current,
        }
    else:
        assert gauges == {}
    assert status["actuation"]["applied"] is bool(gauges)
    assert projection.requeue == 60


def test_an_allocation_is_whole_or_absent():
    classes = config("classes", "default", {"premium.yaml": service_class()})
    status = projected(variant(), classes, deployment(2), COSTS).status
    assert status["currentAlloc"] == {
        "variantID": "meta/llama-A100-4",
        "accelerator": "A100",
        "numReplicas": 2,
        "maxBatch": 4,
        "variantCost": "320.00",
    }
    assert "currentAlloc" not in projected(variant(), classes, deployment(2)).status


@pytest.mark.parametrize("text", ["", "{}", '{"cost": "much"}', '{"cost": "-1"}', '{"cost": "NaN"}', "[1]"])
def test_a_cost_that_is_not_a_price_leaves_the_allocation_out(text):
    costs = config("accelerator-unit-costs", SYSTEM, {"A100": text})
    assert "currentAlloc" not in projected(variant(), deployment(2), costs).status


def test_the_time_of_a_decision_is_that_of_the_run_that_led_to_it():
    classes = config("classes", "default", {"premium.yaml": service_class()})
    same = projected(variant(held=1), classes, deployment(1)).status["desiredOptimizedAlloc"]
    assert same["lastRunTime"] == "2026-01-01T00:00:00Z"
    other = projected(variant(held=2), classes, deployment(1)).status["desiredOptimizedAlloc"]
    assert other["lastRunTime"] == "2026-11-21T12:00:00Z"


@pytest.mark.parametrize(("mine", "theirs", "desired"), [(4, 4, 5), (4, 0, 9), (0, 4, 1), (0, 0, 5), (3, 1, 7)])
def test_variants_of_a_model_share_its_load_by_their_capacities(mine, theirs, desired):
    classes = config("classes", "default", {"premium.yaml": service_class()})
    other = variant("w", accelerator="H100")
    objects = (classes, deployment(mine), other, deployment(theirs, "w"), variant("x", modelID="another"))
    status = projected(variant(), *objects, by=measured(600)).status
    assert status["desiredOptimizedAlloc"]["numReplicas"] == desired


def test_targets_come_from_the_namespace_then_from_llm_ds_own_then_from_all_of_its_classes():
    own = config("classes", "default", {"premium.yaml": service_class(tpot=20)})
    system = config("classes", SYSTEM, {"premium.yaml": service_class(tpot=24)})
    scattered = config("service-classes-config", SYSTEM, {"a": service_class("other"), "b": service_class()})
    assert "cannot be met" in optimization(own, system)
    assert f"targets of {SYSTEM}/classes" in optimization(system, scattered)
    assert f"targets of {SYSTEM}/service-classes-config" in optimization(scattered)


def optimization(*objects):
    status = projected(variant(), deployment(1), *objects).status
    return find(status["conditions"], "OptimizationReady")["message"]


def test_of_several_classes_the_one_with_the_lowest_priority_number_counts_and_unreadable_ones_do_not():
    data = {"a": service_class(tpot=20, priority=2), "b": service_class(tpot=24), "c": ": [", "d": "text"}
    assert "Optimization completed" in optimization(config("service-classes-config", SYSTEM, data))


def test_a_refused_variant_has_an_invalid_configuration():
    condition = refused([Cause("spec.variantID", "FieldValueInvalid", "no", "LD203")])
    assert (condition.type, condition.reason) == ("OptimizationReady", "InvalidConfiguration")
    assert condition.message == "spec.variantID: no (LD203)"


def test_a_name_shows_in_the_labels_of_every_gauge():
    classes = config("classes", "default", {"premium.yaml": service_class()})
    for gauge in projected(variant(), classes, deployment(0)).gauges:
        assert gauge.labels == {
            "variant_name": "v",
            "namespace": "default",
            "accelerator_type": "A100",
            "variant_id": "meta/llama-A100-4",
        }


@pytest.mark.parametrize(
    "text",
    [
        "data: [" + "x, " * 40_000 + "]",
        "a: &a [x, x]\ndata: [*a, *a]",
        "\n".join(f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]\n  k{n}: 1" for n in range(1, 60)),
        "data: " + "[" * 30_000,
        "data: [2020-99-99]",
        "data: {priority: 1e999}",
        "\0",
    ],
)
def test_service_classes_that_a_tenant_writes_are_bounded(text):
    classes = config("classes", "default", {"premium.yaml": text})
    projection = projected(variant(), classes, deployment(1), by=measured(rpm=60))
    assert "not found in any service class" in find(projection.status["conditions"], "OptimizationReady")["message"]


def test_service_classes_are_read_once_for_all_variants_of_a_namespace():
    _parsed.cache_clear()
    others = [variant(f"v{number}") for number in range(20)]
    classes = config("classes", "default", {"premium.yaml": service_class()})
    for _ in range(3):
        projected(variant(), classes, deployment(1), *others, by=measured(rpm=60))
    assert _parsed.cache_info().misses == 1


# Prometheus.


def answering(**values):
    """A transport that gives, for a query that contains a word, a value; "series" is the age of the newest sample."""
    asked = []

    def transport(query):
        asked.append(query)
        for word, value in values.items():
            if word in query:
                result = [] if value is None else [{"value": [0, str(value)]}]
                return json.dumps({"status": "success", "data": {"result": result}}).encode()
        return b'{"status": "success", "data": {"result": []}}'

    return transport, asked


def test_a_load_is_read_in_the_units_of_the_optimiser():
    transport, asked = answering(timestamp=3, request_success=2, prompt_tokens=100.9, generation_tokens=50)
    found = Prometheus(transport).measure('meta/"llama', "ns")
    assert found == Measured(Load(120, 100, 50), 3)
    assert all(r'{model_name="meta/\"llama",namespace="ns"}' in query for query in asked)


def test_series_without_a_namespace_are_used_for_all_queries_and_those_of_another_namespace_never():
    def transport(query):
        value = [{"value": [0, "1"]}] if 'namespace=""' in query else []
        return json.dumps({"status": "success", "data": {"result": value}}).encode()

    assert Prometheus(transport).measure("m", "ns").load == Load(60, 1, 1)


@pytest.mark.parametrize("value", ["NaN", "+Inf", None])
def test_no_number_counts_as_none(value):
    transport, _ = answering(timestamp=3, request_success=value, prompt_tokens=value)
    assert Prometheus(transport).measure("m", "ns").load == Load(0, 0, 0)
    transport, _ = answering(timestamp=value)
    assert Prometheus(transport).measure("m", "ns") == Measured()


def test_of_two_series_the_first_counts():
    def transport(_):
        return b'{"status": "success", "data": {"result": [{"value": [0, "1"]}, {"value": [0, "9"]}]}}'

    assert Prometheus(transport).measure("m", "ns").load == Load(60, 1, 1)


@pytest.mark.parametrize(
    "answer",
    [b"", b"no", b"[]", b"{}", b'{"status": "error", "error": "parse error"}', b'{"status": "success", "data": {}}'],
)
def test_an_answer_that_cannot_be_read_is_an_error(answer):
    found = Prometheus(lambda _: answer).measure("m", "ns")
    assert found.error
    assert found.load is None


def test_a_prometheus_that_is_down_is_an_error():
    def transport(_):
        raise ConnectionRefusedError("refused")

    assert Prometheus(transport).measure("m", "ns").error == "ConnectionRefusedError: refused"


def test_the_requests_of_the_retention_are_asked_for_only_with_scale_to_zero():
    transport, asked = answering(timestamp=3, increase=0)
    assert Prometheus(transport, 600).measure("m", "ns").served == 0
    assert any("[600s]" in query for query in asked)
    assert Prometheus(transport).measure("m", "ns").served is None
