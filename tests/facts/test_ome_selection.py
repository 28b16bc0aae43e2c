"""The selection of runtimes against facts of upstream's own tests, and against cases on which the behaviours differ."""

import re
from typing import Any

import pytest
import yaml

from tests.shared import shared
from webhook.facts.ome.lookup import Found
from webhook.facts.ome.modelsize import parse_size, range_of
from webhook.facts.ome.modelversion import parse_version, same_version, version_fits
from webhook.facts.ome.selection import incompatible, select
from webhook.facts.settings import Behaviour

HEAD, OURS, DOC = Behaviour.UPSTREAM_HEAD, Behaviour.RECOMMENDED, Behaviour.DOC_ERA
SHORT = {"arch": "modelArchitecture", "q": "quantization", "auto": "autoSelect", "pri": "priority", "name": "name"}


def tables() -> list[Any]:
    """The two tables of the specification: transcribed cases, and edge cases."""
    text = (shared("spec") / "ome.md").read_text()
    blocks = re.findall(r"^### 7\.[34].*?```yaml\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    return [yaml.safe_load(block) for block in blocks]


def transcribed() -> list[dict[str, Any]]:
    table = tables()[0]
    return [{**case, **(table["SET_A"] if case.get("use") else {})} for case in table["cases"]]


def named(name: str, version: Any, weight: Any, operator: Any = None) -> dict[str, Any]:
    given = {"name": name, "version": version and str(version), "weight": weight, "operator": operator}
    return {key: value for key, value in given.items() if value is not None}


def formats(short: dict[str, Any]) -> dict[str, Any]:
    """A model's or an entry's part of a spec: format, framework, architecture …"""
    spec = {SHORT[key]: value for key, value in short.items() if key in SHORT}
    if "f" in short:
        spec["modelFormat"] = named(short["f"], short.get("fv"), short.get("fw"), short.get("fop"))
    if "lib" in short:
        spec["modelFramework"] = named(short["lib"], short.get("libv"), short.get("libw"))
    return spec


def a_model(short: dict[str, Any]) -> dict[str, Any]:
    return {**formats(short), **({"modelParameterSize": short["size"]} if "size" in short else {})}


def a_runtime(short: dict[str, Any], kind: str) -> Found:
    spec = {"supportedModelFormats": [formats(entry) for entry in short.get("fmts", [])]}
    if "size" in short:
        spec["modelSizeRange"] = dict(zip(("min", "max"), short["size"], strict=True))
    return Found(kind, {"metadata": {"name": short["n"]}, "spec": {**spec, "disabled": short.get("disabled", False)}})


def runtimes(case: dict[str, Any]) -> list[Found]:
    of_namespace = [a_runtime(short, "ServingRuntime") for short in case.get("ns", [])]
    return of_namespace + [a_runtime(short, "ClusterServingRuntime") for short in case.get("cluster", [])]


def test_upstream_s_own_tests_of_the_selection():
    seen = 0
    for case in transcribed():
        if "compare" in case:
            continue  # asks the comparator about runtimes that are no candidates; E02 asks the selection
        expect, behaviour = case["expect"], DOC if case["id"].startswith("D") else HEAD
        found = select(a_model(case["model"]), runtimes(case), "ns", behaviour, explain=True)
        if "order" in expect:
            assert [each.runtime.name for each in found.ranked] == expect["order"], case["id"]
            seen += 1
        if "scores" in expect and behaviour is HEAD:
            assert [each.score for each in found.ranked] == expect["scores"], case["id"]
        if "err" in expect:
            assert found.winner is None, case["id"]
            assert found.error.startswith("no runtime found to support model"), case["id"]
            seen += 1
        reasons = {each.runtime.name: each.reason for each in found.excluded}
        for name, reason in expect.get("excluded" if behaviour is HEAD else "docera_excluded", {}).items():
            assert reasons[name] == reason, case["id"]
    assert seen >= 10


def test_upstream_s_own_tests_of_the_score():
    for case in transcribed():
        if "score" in case:
            runtime = a_runtime({"n": "r", "fmts": case["score"]}, "ClusterServingRuntime")
            model = a_model(case["model"])
            found = select(model, [runtime], "ns", HEAD)
            assert (found.winner.score if found.winner else 0) == case["expect"]["score"], case["id"]


def test_upstream_s_own_tests_of_the_reasons():
    checked = [case for case in transcribed() if "check" in case]
    assert len(checked) >= 7
    for case in checked:
        runtime = a_runtime(case["check"], "ClusterServingRuntime")
        assert incompatible(a_model(case["model"]), runtime, HEAD) == (case["expect"]["incompatible"] or ""), case["id"]


def edge_runtime(short: dict[str, Any], model: dict[str, Any], kind: str) -> Found:
    """A runtime of the second table: for the model, but for what it says itself; autoSelect is true where not given."""
    entries = short.get("fmts", [{key: value for key, value in short.items() if key not in {"n", "size"}}])
    likewise = {key: value for key, value in model.items() if key not in {"size", "fv", "libv"}}
    versions = {} if {"fv", "libv"} & short.keys() else {key: model[key] for key in ("fv", "libv") if key in model}
    full = [{"auto": True, **likewise, **versions, **entry} for entry in entries]
    return a_runtime({**short, "fmts": full}, kind)


def test_edge_cases_under_each_behaviour():
    cases = tables()[1]
    assert len(cases) == 10
    for case in cases:
        model = case["model"]
        candidates = [edge_runtime(short, model, "ServingRuntime") for short in case.get("ns", [])]
        candidates += [edge_runtime(short, model, "ClusterServingRuntime") for short in case["rts"]]
        for column, behaviour in (("head", HEAD), ("doc", DOC), ("recommended", OURS)):
            if column in case:
                wanted = re.split(r"[ ,]", str(case[column]))[0]
                winner = select(a_model(model), candidates, "ns", behaviour).winner
                assert (winner.runtime.name if winner else "none") == wanted, (case["id"], column)


def test_a_selection_explains_every_runtime_on_demand():
    model = a_model({"f": "safetensors", "size": "70B"})
    entry = {"f": "safetensors", "auto": True}
    candidates = [
        a_runtime({"n": "small", "size": ["1B", "9B"], "fmts": [entry]}, "ClusterServingRuntime"),
        a_runtime({"n": "fits", "fmts": [entry]}, "ClusterServingRuntime"),
        a_runtime({"n": "never", "fmts": [{**entry, "auto": False}]}, "ClusterServingRuntime"),
    ]
    found = select(model, candidates, "ns", OURS, explain=True)
    assert found.winner is not None
    assert found.winner.runtime.name == "fits"
    assert {each.runtime.name: each.reason for each in found.excluded} == {
        "small": "model size 70B is outside supported range [1B, 9B]",
        "never": "runtime does not have auto-select enabled",
    }


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        *(
            (text, True)
            for text in ("1", "v1", "1.12", "0.6.0", "v0.8.0", "4.43.0.dev0", "4.51.3-SAM-HQ-preview", "1.0.0+b")
        ),
        *((text, False) for text in ("", "1.", "01.2", "V1", "latest", "2024.08", "1.0-rc1", "1.0.0-", "9" * 25)),
    ],
)
def test_versions_that_can_be_read(text, readable):
    assert (parse_version(text) is not None) == readable


def test_versions_are_equal_as_numbers():
    assert same_version("1", "v1.0.0")
    assert not same_version("1.0.0", "1.0.0-rc")
    assert not same_version("2024.08", "2024.08")


@pytest.mark.parametrize(
    ("model", "runtime", "operator", "fits"),
    [
        ("1.7.0", "1.8.0", "GreaterThan", True),
        ("1.8.0", "1.8.0", "GreaterThan", False),
        ("1.8.0", "1.8.0", "GreaterThanOrEqual", True),
        ("1.7", "1.8.0", "GreaterThan", False),
        ("v1.7.0", "1.8.0", "GreaterThan", False),
        ("1.7.0.dev0", "1.8.0", "GreaterThan", False),
        ("1.8.0", "1.8.0", "Near", True),
    ],
)
def test_operators_compare_the_runtime_s_version_with_the_model_s(model, runtime, operator, fits):
    assert version_fits(model, runtime, operator) == fits


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7B", 7e9),
        ("1.5T", 1.5e12),
        ("100M", 1e8),
        ("42", 42.0),
        ("7b", None),
        ("8x7B", None),
        ("7 B", None),
        ("NaNB", None),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


def test_ranges_may_be_open():
    assert range_of({"modelSizeRange": {"min": "7B"}}).holds("900B")
    assert not range_of({"modelSizeRange": {"max": "7B"}}).holds("7.1B")
    assert range_of({"modelSizeRange": {}}) is None
