"""Facts of upstream's suite about a VariantAutoscaling hold: the table is cases/llmd_suite.yaml."""

import json
from itertools import accumulate
from pathlib import Path

import pytest
import yaml

from reconciler.audit import judge
from reconciler.projections.inferno import Infeasible, Load, Profile, Queue, Targets, highest, size
from reconciler.projections.llmd import SYSTEM
from reconciler.projections.prometheus import Measured, Prometheus
from reconciler.say.conditions import find
from tests.reconciler.projections.test_llmd import config, deployment, projected, variant
from tests.reconciler.world import rules
from tests.shared import shared
from webhook.cluster.view import MemoryView

CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "llmd_suite.yaml").read_text())
WAITING = 10
"""Upstream's requests that may wait, for each of a batch."""

SUITE = "upstream-suites/wva"

VALUES = {
    "square": lambda x: x * x,
    "twice": lambda x: 2 * x,
    "five": lambda _: 5.0,
    "step": lambda x: 1.0 if x < 3 else 10.0,
    "line": lambda x: 2 * x + 3,
}


def test_each_source_is_a_line_of_upstreams_suite():
    found = {path.name: path.read_text().splitlines() for path in shared(SUITE).rglob("*_test.go")}
    for row in (row for section in CASES.values() for row in section if "src" in row):
        file, line = row["src"].split(":")
        assert found[file][int(line) - 1].strip(), row["name"]


def rows(section):
    return pytest.mark.parametrize("row", CASES[section], ids=lambda row: row["name"])


@rows("parts")
def test_a_part_of_the_time(row):
    profile = Profile(1, 0.01, 10, 0.001, 8)
    if "prefill" in row:
        tokens, requests = row["prefill"]
        assert Queue(profile, tokens, 10).prefill(requests) == pytest.approx(row["is"])
    elif "decode" in row:
        assert Queue(profile, 100, 10).decode(row["decode"]) == pytest.approx(row["is"])
    else:
        low, high = row["between"]
        assert low <= Queue(profile, 100, 10).concurrency(row["concurrency"]) <= high


def in_system(queue, arrival):
    """The mean number of requests, summed over every state."""
    full = queue.rates[-1]
    ratios = [arrival / rate for rate in [*queue.rates, *([full] * WAITING * len(queue.rates))]]
    weights = [1.0, *accumulate(ratios, lambda before, ratio: before * ratio)]
    return sum(n * weight for n, weight in enumerate(weights)) / sum(weights)


@rows("queues")
def test_a_queue(row):
    queue = Queue(Profile(*row["of"]), *row["tokens"])
    low, high = queue.span
    assert 0 < low < high
    asked = row["arrival"] if "arrival" in row else low * row["lows"] if "lows" in row else high * row["part"]
    arrival = queue.bounded(asked)
    assert (arrival != asked) is row.get("bounded", False)
    state = queue.at(arrival)
    assert 0 < state.throughput <= arrival
    assert 0 <= state.served <= row["of"][-1]
    assert min(state.wait, state.tpot, state.ttft) >= 0
    assert state.ttft >= max(state.wait, row.get("ttft", 0))
    assert state.tpot >= row.get("tpot", 0)
    found = state.throughput * state.wait + state.served
    assert found == pytest.approx(in_system(queue, arrival), rel=1e-6)
    assert found == pytest.approx(row.get("in_system", found), abs=1e-3)
    assert state.served / state.throughput == pytest.approx(row.get("serves", state.served / state.throughput))
    assert queue.rates == pytest.approx(row.get("rates", queue.rates))


@rows("searches")
def test_a_search(row):
    value, (low, high) = VALUES[row["value"]], row["between"]
    if "infeasible" in row:
        with pytest.raises(Infeasible, match=row["infeasible"]):
            highest(value, row["target"], low, high, "a target")
        return
    assert highest(value, row["target"], low, high, "a target") == pytest.approx(row["is"], abs=1e-3)


@rows("sizes")
def test_a_size(row):
    profile, targets, tokens = Profile(*row["of"]), Targets(*row["slo"]), row["tokens"]
    if "infeasible" in row:
        with pytest.raises(Infeasible, match=row["infeasible"]):
            size(profile, targets, *tokens)
        return
    found = size(profile, targets, *tokens)
    assert found.rate > 0
    assert found.binding == row.get("by", found.binding)
    if "within" in row:
        queue = Queue(profile, *tokens)
        assert found.rate / 1000 <= queue.span[1]
        (target, time), *_ = (each for each in zip(row["slo"], ("ttft", "tpot"), strict=True) if each[0])
        reached = getattr(queue.at(queue.bounded(found.rate / 1000)), time)
        if found.binding == "capacity":
            assert reached <= target
        else:
            assert reached == pytest.approx(target, abs=row["within"])


@rows("judged")
def test_a_judgement(row):
    obj = variant()
    del obj["status"]
    obj["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    profile = obj["spec"]["variantProfile"]
    parts = (obj["spec"], profile, profile["perfParms"], profile["perfParms"]["decodeParms"])
    for key, value in row["set"].items():
        (part,) = (each for each in parts if key in each)
        part[key] = value
        if value is None:
            del part[key]
    causes = judge(obj, rules(), MemoryView()).causes
    assert {cause.field for cause in causes} >= {row["refused"]} if "refused" in row else not causes


def service_class(name, priority, entries):
    data = [{"model": model, "slo-ttft": ttft, "slo-tpot": tpot} for model, (ttft, tpot) in entries.items()]
    return yaml.safe_dump({"name": name, "priority": priority, "data": data})


def decided(classes, model, **parms):
    """The condition of a variant of this model that has a load, under these classes."""
    obj = variant(modelID=model)
    obj["spec"]["variantProfile"]["perfParms"] |= parms
    system = config("service-classes-config", SYSTEM, classes)
    return find(projected(obj, deployment(1), system).status["conditions"], "OptimizationReady")


@rows("classes")
def test_a_class(row):
    name, priority = row.get("class", "c"), row["priority"]
    if "rank" in row:
        mine = service_class(name, priority, {"m": (500, 24)})
        for other, key, wins in ((row["rank"], "z", True), (row["rank"] - 1, "a", False)):
            if other:
                theirs = service_class("other", other, {"m": (500, 1)})
                assert (decided({"k": mine, key: theirs}, "m")["status"] == "True") is wins
        return
    classes = {"k": service_class(name, priority, row["entries"])}
    if row["wants"] is None:
        assert "not found in any service class" in decided(classes, row["model"])["message"]
        return
    ttft, tpot = row["wants"]
    slow = decided(classes, row["model"], decodeParms={"alpha": str(tpot), "beta": "0"})
    assert f"slo-tpot of {tpot} ms cannot be met" in slow["message"]
    slow = decided(classes, row["model"], prefillParms={"gamma": str(ttft), "delta": "0.1"})
    assert f"slo-ttft of {ttft} ms cannot be met" in slow["message"]


@rows("loads")
def test_a_load(row):
    says = {"age": 1, **row["says"]}
    words = {"timestamp": "age", "request_success": "rate", "prompt": "input", "generation": "output"}
    asked = []

    def transport(query):
        asked.append(query)
        value = says[next(key for word, key in words.items() if word in query)]
        if 'namespace="ns"' in query and not row.get("namespaced", True):
            value = None
        if value == "error":
            raise OSError("prometheus connection failed")
        result = [] if value is None else [{"value": [0, str(value)]}]
        return json.dumps({"status": "success", "data": {"result": result}}).encode()

    found = Prometheus(transport).measure("m", "ns")
    assert row.get("asks", "") in asked[-1]
    if "error" in row:
        assert row["error"] in found.error
        assert found.load is None
        return
    assert (found.load.rpm, found.load.input, found.load.output) == pytest.approx(tuple(row["load"]))


@rows("outcomes")
def test_an_outcome(row):
    of, count = row.get("of", [5, 2, 10, 1.5, 16]), row.get("count", 1)
    obj = variant(held=row.get("held"), acceleratorCount=count)
    alpha, beta, gamma, delta, batch = map(str, of)
    parms = {"decodeParms": {"alpha": alpha, "beta": beta}, "prefillParms": {"gamma": gamma, "delta": delta}}
    obj["spec"]["variantProfile"] = {"maxBatchSize": int(batch), "perfParms": parms}
    entries = row.get("entries", {"meta/llama": row.get("slo", [2000, 500])})
    objects = [config("classes", "default", {"premium.yaml": service_class("c", 1, entries)})]
    if row.get("replicas", 1) is not None:
        objects.append(deployment(row.get("replicas", 1)))
    if row.get("cost") is not None:
        objects.append(config("accelerator-unit-costs", SYSTEM, {"A100": json.dumps({"cost": str(row["cost"])})}))
    tokens, rpm = row.get("tokens", [100, 200]), row.get("rpm")
    if "part" in row:
        rpm = row["part"] * 60 * size(Profile(*of), Targets(0, 0), *tokens).rate
    load = None if rpm is None else Load(rpm, *tokens)
    age = None if load is None else row.get("age", 1)
    projection = projected(obj, *objects, by=Measured(load, age, served=row.get("served")))
    status, ready = projection.status, find(projection.status["conditions"], "OptimizationReady")
    desired = status.get("desiredOptimizedAlloc")
    assert (desired or {}).get("numReplicas", 0) >= row.get("least", 0)
    for key, found in (("wants", desired), ("current", status.get("currentAlloc"))):
        if row.get(key, {}) is None:
            assert found is None
        else:
            assert (found or {}).items() >= row.get(key, {}).items()
    assert ready["reason"] == row.get("reason", ready["reason"])
    assert row.get("says", "") in ready["message"]
    assert "silent" not in row or row["silent"] not in ready["message"]
    if "gauges" in row:
        gauges = {gauge.name: gauge.value for gauge in projection.gauges}
        assert {name: gauges[name] for name in row["gauges"]} == pytest.approx(row["gauges"])
        assert gauges or not row["gauges"]
        assert not gauges or row["gauges"]
