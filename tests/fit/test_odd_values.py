"""Whatever stands at any field of an object, of the others and of a node: nothing raises, and the time is bounded."""

import copy
import random
import time

import pytest

from tests.fit.worlds import AROUND, NODE, WORLDS
from tests.laws import examples
from tests.placement.scheduler import scheduler_text
from tests.policies.test_odd_values import ODD
from webhook.admission import GroupVersionKind, group_version
from webhook.cluster import MemoryView
from webhook.engine.placement import fit_tables
from webhook.engine.placement.findings import faults_of, judge_fit
from webhook.facts.settings import Settings
from webhook.placement import NodeTable, needs_of

STRANGE = (*ODD, "80Gi", "288000", "9" * 40, "1e9999", "x" * 10_000, 10**40, -1.5, {"In": 1}, [["a"]])
SETTINGS = Settings()


def paths(value, path=()):
    """All paths in a value, but that of the whole."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in children:
        yield (*path, key)
        yield from paths(item, (*path, key))


def changed(value, path, odd):
    found = copy.deepcopy(value)
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = odd
    return found


def is_named(metadata):
    names = [metadata.get("name"), metadata.get("namespace", "")] if isinstance(metadata, dict) else [None]
    return all(isinstance(name, str) for name in names)


def fleet(count):
    """Nodes of which each has a label of its own."""
    for at in range(count):
        yield changed(changed(NODE, ("metadata", "name"), f"n{at}"), ("metadata", "labels", "own"), f"{at}")


def judged(objects, loaded):
    """Judge the first object and explain it; what is stored has a name of its own."""
    obj, *others = objects
    group, version = group_version(obj["apiVersion"])
    known = loaded.find(GroupVersionKind(group, version, obj["kind"]))
    named = [
        each for each in others if isinstance(each["metadata"], dict) and isinstance(each["metadata"].get("name"), str)
    ]
    view = MemoryView([each for each in named if isinstance(each["metadata"].get("namespace", ""), str)])
    found = judge_fit(known, obj, view, SETTINGS)
    return [] if found is None else [*faults_of(found, is_complete=True), *fit_tables(known, obj, view, SETTINGS)]


@pytest.mark.parametrize("api", WORLDS)
def test_an_odd_value_anywhere_is_silent_or_a_finding(api, loaded):
    dice, world = random.Random(api), [*WORLDS[api], *AROUND]
    assert judged(world, loaded)
    tries = [(at, path) for at, obj in enumerate(world) for path in paths(obj) if path[0] not in {"apiVersion", "kind"}]
    for at, path in dice.choices(tries, k=examples(4000)):
        odd = dice.choice(STRANGE)
        try:
            judged([changed(obj, path, odd) if place == at else obj for place, obj in enumerate(world)], loaded)
        except Exception as error:
            error.add_note(f"{world[at]['kind']} {path} = {str(odd)[:80]!r}")
            raise


def test_an_odd_node_or_pod_is_read_or_left_out():
    dice, pod = random.Random(1), WORLDS["ome"][1]["spec"]["engineConfig"]
    pod = {**pod, "containers": [pod["runner"]], "tolerations": [{"key": "a"}], "overhead": {"cpu": "1"}}
    for _ in range(examples(4000)):
        node = changed(NODE, dice.choice([*paths(NODE)]), dice.choice(STRANGE))
        needs = needs_of(changed(pod, dice.choice([*paths(pod)]), dice.choice(STRANGE)))
        table = NodeTable.of([node, NODE])
        if needs is not None:
            scheduler_text(needs, table)
    assert needs_of([]) is None
    assert needs_of(None) is not None


def test_ten_thousand_shapes_are_not_looked_at(loaded):
    world = [*WORLDS["llmaz"], *fleet(10_000)]
    began = time.process_time()
    assert {fault.code for fault in judged(world, loaded) if hasattr(fault, "code")} == set()
    assert time.process_time() - began < 5


def test_names_of_ten_kilobytes_take_no_time(loaded):
    began = time.process_time()
    for text in ("-instruct" * 1200, "a" * 10_000, "llama-3.1-70b" + "-instruct" * 900, "qwen3-8b-fp8" * 800):
        service, model, *others = copy.deepcopy(WORLDS["llmkube"])
        model["spec"]["source"], model["spec"]["files"] = f"https://e.example/{text}-Q4_K_M.gguf", []
        judged([service, model, *others, *AROUND], loaded)
        service["spec"]["runtime"], model["spec"]["source"] = "vllm", f"meta-llama/{text}"
        judged([service, model, *others, *AROUND], loaded)
    assert time.process_time() - began < 2


def test_many_terms_and_tolerations_are_bounded(loaded):
    terms = [{"matchExpressions": [{"key": f"k{at}", "operator": "In", "values": ["a"] * 50}]} for at in range(300)]
    service, *others = copy.deepcopy(WORLDS["llmkube"])
    service["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    }
    began = time.process_time()
    judged([service, *others, *fleet(900)], loaded)
    assert time.process_time() - began < 10
