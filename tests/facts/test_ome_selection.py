"""The selection of runtimes against facts of upstream's own tests, and against cases on which the behaviours differ."""

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared
from webhook import catalog, engine
from webhook.admission.decision import GroupVersionKind, Request
from webhook.cluster import MemoryView
from webhook.facts.nodes import Referent
from webhook.facts.ome.choice import awaited as awaited_fields
from webhook.facts.ome.lookup import RuntimeIndex, runtime_lists, runtimes_in
from webhook.facts.ome.notation import parse_size, parse_version, range_of, version_fits
from webhook.facts.ome.ranking import RANKINGS
from webhook.facts.ome.runtimes import unreadable_sizes, unreadable_versions
from webhook.facts.ome.selection import SHORT as LONGEST
from webhook.facts.ome.selection import Selection, incompatible, select
from webhook.facts.settings import Behaviour

HEAD, OURS, DOC = Behaviour.UPSTREAM_HEAD, Behaviour.RECOMMENDED, Behaviour.DOC_ERA
COLUMNS = {"head": HEAD, "doc": DOC, "recommended": OURS}
SHORT = {"arch": "modelArchitecture", "q": "quantization", "auto": "autoSelect", "pri": "priority", "name": "name"}


def tables() -> list[Any]:
    """The two tables of the specification: transcribed cases, and edge cases."""
    text = (shared("spec") / "ome.md").read_text()
    blocks = re.findall(r"^### 7\.[34].*?```yaml\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    return [yaml.safe_load(block) for block in blocks]


UPSTREAMS = [*(f"S{i:02}" for i in range(1, 15)), *(f"M{i}" for i in range(15, 22)), *(f"D{i}" for i in range(22, 26))]
EDGES = [f"E{i:02}" for i in range(1, 11)]


def upstreams(name: str) -> dict[str, Any]:
    """One of the 25 transcribed cases."""
    table = tables()[0]
    case = next(case for case in table["cases"] if case["id"] == name)
    return {**case, **(table["SET_A"] if case.get("use") else {})}


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


def a_runtime(short: dict[str, Any], kind: str) -> Referent:
    spec = {"supportedModelFormats": [formats(entry) for entry in short.get("fmts", [])]}
    if "size" in short:
        spec["modelSizeRange"] = dict(zip(("min", "max"), short["size"], strict=True))
    return Referent(
        kind, {"metadata": {"name": short["n"]}, "spec": {**spec, "disabled": short.get("disabled", False)}}
    )


def runtimes(case: dict[str, Any]) -> list[Referent]:
    of_namespace = [a_runtime(short, "ServingRuntime") for short in case.get("ns", [])]
    return of_namespace + [a_runtime(short, "ClusterServingRuntime") for short in case.get("cluster", [])]


def test_the_tables_hold_what_is_tested():
    assert [[case["id"] for case in table] for table in (tables()[0]["cases"], tables()[1])] == [UPSTREAMS, EDGES]


@pytest.mark.parametrize("name", UPSTREAMS)
def test_upstream_s_own_cases(name):
    case = upstreams(name)
    behaviour = DOC if name.startswith("D") else HEAD
    model, expect = a_model(case["model"]), case["expect"]
    if "compare" in case:
        in_order(model, [a_runtime(short, "ServingRuntime") for short in case["compare"]], expect["order"])
    elif "check" in case:
        supports(model, a_runtime(case["check"], "ServingRuntime"), expect)
    elif "score" in case:
        runtime = a_runtime({"n": "r", "fmts": case["score"]}, "ClusterServingRuntime")
        winner = select(model, [runtime], "ns", behaviour).winner
        assert (winner.score if winner else 0) == expect["score"]
    else:
        selects(select(model, runtimes(case), "ns", behaviour, explain=True), expect, behaviour)


def in_order(model: dict[str, Any], candidates: list[Referent], order: list[str]) -> None:
    """As upstream's comparator, which is asked about runtimes that the size would have dropped."""
    ranked = sorted(candidates, key=lambda runtime: RANKINGS[HEAD].rank(model, runtime, 1))
    assert [runtime.name for runtime in ranked] == order


def supports(model: dict[str, Any], runtime: Referent, expect: dict[str, Any]) -> None:
    assert incompatible(model, runtime, HEAD) == (expect["incompatible"] or "")
    if "warning" in expect:
        assert warning_of(model, runtime).startswith(expect["warning"] or "")


def warning_of(model: dict[str, Any], runtime: Referent) -> str:
    """What the gate says of a service that names this runtime."""
    head = {"apiVersion": "ome.io/v1beta1", "metadata": {"name": "m", "namespace": "ns"}}
    stored = {"kind": "BaseModel", **head, "spec": {**model, "storage": {"storageUri": "hf://a/b"}}}
    other = {**runtime.object, "apiVersion": "ome.io/v1beta1", "kind": runtime.kind}
    other["metadata"] = {**other["metadata"], "namespace": "ns"}
    spec = {"model": {"name": "m", "kind": "BaseModel"}, "engine": {}}
    service = {"kind": "InferenceService", **head, "spec": {**spec, "runtime": {"name": runtime.name}}}
    kind = GroupVersionKind("ome.io", "v1beta1", "InferenceService")
    request = Request(kind, "inferenceservices", "CREATE", service)
    decision = engine.validate(request, catalog.load(), MemoryView([stored, other]))
    return next((warning.message for warning in decision.warnings if warning.code == "OM414"), "")


def selects(found: Selection, expect: dict[str, Any], behaviour: Behaviour) -> None:
    assert [each.runtime.name for each in found.ranked] == expect.get("order", [])
    if behaviour is HEAD:
        assert [each.score for each in found.ranked] == expect.get("scores", [])
    if "err" in expect:
        assert found.error.startswith("no runtime found to support model")
    reasons = {each.runtime.name: each.reason for each in found.excluded}
    for name, reason in {**expect.get("excluded", {}), **expect.get("docera_excluded", {})}.items():
        assert reasons[name] == reason


def edge_runtime(short: dict[str, Any], model: dict[str, Any], kind: str) -> Referent:
    """A runtime of the second table: for the model, but for what it says itself; autoSelect is true where not given."""
    entries = short.get("fmts", [{key: value for key, value in short.items() if key not in {"n", "size"}}])
    likewise = {key: value for key, value in model.items() if key not in {"size", "fv", "libv"}}
    versions = {} if {"fv", "libv"} & short.keys() else {key: model[key] for key in ("fv", "libv") if key in model}
    full = [{"auto": True, **likewise, **versions, **entry} for entry in entries]
    return a_runtime({**short, "fmts": full}, kind)


def edge(name: str) -> tuple[dict[str, Any], list[Referent]]:
    """One of the ten edge cases, and its candidates."""
    case = next(case for case in tables()[1] if case["id"] == name)
    candidates = [edge_runtime(short, case["model"], "ServingRuntime") for short in case.get("ns", [])]
    candidates += [edge_runtime(short, case["model"], "ClusterServingRuntime") for short in case["rts"]]
    return case, candidates


@pytest.mark.parametrize("name", EDGES)
def test_edge_cases_select_the_runtime_of_each_behaviour(name):
    """Each under the behaviours that the table has a column for."""
    case, candidates = edge(name)
    columns = [column for column in COLUMNS if column in case]
    assert len(columns) >= 2
    for column in columns:
        wanted = re.split(r"[ ,]", str(case[column]))[0]
        winner = select(a_model(case["model"]), candidates, "ns", COLUMNS[column]).winner
        assert (winner.runtime.name if winner else "none") == wanted, column


def test_edge_cases_that_call_for_a_warning():
    """What the rules OM335, OM334 and OM413 go by."""
    (version, _), (size, _), (tie, candidates) = edge("E07"), edge("E08"), edge("E09")
    assert unreadable_versions(a_model(version["model"])) == {"2024.08": True}
    assert unreadable_sizes(a_model(size["model"])) == ["7b"]
    found = select(a_model(tie["model"]), candidates, "ns", OURS)
    assert [each.runtime.name for each in found.ties] == ["b-newer"]


A_FORMAT = st.fixed_dictionaries(
    {"f": st.sampled_from(["safetensors", "onnx"])},
    optional={
        "fv": st.sampled_from(["1", "1.0.0", "2024.08"]),
        "lib": st.sampled_from(["transformers", "a:b"]),
        "arch": st.sampled_from(["A", "B", "fp8"]),
        "q": st.sampled_from(["fp8", "A"]),
        "auto": st.booleans(),
    },
)


@given(A_FORMAT, st.lists(st.lists(A_FORMAT, max_size=2), max_size=4), st.sampled_from(list(Behaviour)))
def test_an_explanation_changes_nothing_in_what_is_chosen(wanted, offered, behaviour):
    """Without one, only runtimes of the model's sort are looked at."""
    candidates = [a_runtime({"n": f"r{i}", "fmts": each}, "ServingRuntime") for i, each in enumerate(offered)]
    chosen, explained = (
        select(a_model(wanted), candidates, "ns", behaviour, explain=explain) for explain in (False, True)
    )
    assert chosen.ranked == explained.ranked
    assert {each.runtime.name for each in (*explained.ranked, *explained.excluded)} == {r.name for r in candidates}


def test_a_runtime_that_has_changed_is_another_object():
    model = a_model({"f": "onnx"})
    before, after = ({"n": "r", "fmts": [{"f": name, "auto": True}]} for name in ("safetensors", "onnx"))
    winners = [select(model, [a_runtime(each, "ServingRuntime")], "ns", OURS).winner for each in (before, after)]
    assert winners[0] is None
    assert winners[1] is not None


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


def many(number: int) -> list[Any]:
    """Runtimes as in upstream's catalogue: some share the architecture of the model, most do not."""
    entries = [
        {"f": "safetensors", "lib": "transformers", "arch": f"Architecture{n % 40}ForCausalLM", "auto": n % 3 > 0}
        for n in range(number)
    ]
    return [
        a_runtime({"n": f"srt-{n:03}-instruct", "fmts": [entry], "size": ["1B", "9B"]}, "ClusterServingRuntime")
        for n, entry in enumerate(entries)
    ]


@pytest.mark.parametrize("behaviour", [DOC, HEAD])
def test_of_203_runtimes_the_nearest_are_named_and_the_others_counted(behaviour):
    architecture = "Architecture7ForCausalLM"
    model = a_model({"f": "safetensors", "lib": "transformers", "arch": architecture, "size": "70B"})
    found = select(model, many(203), "ns", behaviour, name="m", explain=True)
    assert len(found.excluded) == 203
    named = re.findall(r"srt-(\d{3})-instruct", found.error)
    assert 3 <= len(named) <= 5
    assert {int(each) % 40 for each in named} == {7}  # the same architecture first
    counts = {reason: int(number) for number, reason in re.findall(r"(\d+) by ([a-zA-Z ]+?)(?=,| \()", found.error)}
    (more,) = re.findall(r"; and (\d+) more: ", found.error)
    assert sum(counts.values()) == int(more) == 203 - len(named)
    assert counts["architecture"] == 198
    assert len(found.error) < 2048


def test_our_own_message_is_short_and_names_the_nearest_runtime_first():
    model = a_model({"f": "safetensors", "lib": "transformers", "arch": "Architecture7ForCausalLM", "size": "70B"})
    assert len(select(model, many(203), "ns", OURS, name="m" * 253, explain=True).error) <= LONGEST
    found = select(model, many(203), "ns", OURS, name="m", explain=True)
    (named,) = re.findall(r"srt-(\d{3})-instruct", found.error)
    assert int(named) % 40 == 7
    assert " among 203: " in found.error
    assert found.error.endswith("; and 202 more")


def test_of_few_runtimes_each_is_named_with_its_whole_reason():
    model = a_model({"f": "onnx", "lib": "transformers", "arch": "Architecture0ForCausalLM"})
    found = select(model, many(1), "ns", OURS, name="m", explain=True)
    ((reason,),) = [[each.reason.partition("not in supported formats: ")[2]] for each in found.excluded]
    assert found.error.endswith(f": srt-000-instruct ({reason})")


def test_a_runtime_with_hundreds_of_entries_is_named_with_its_nearest_one():
    entries = [{"f": "onnx", "arch": f"A{n}", "auto": True} for n in range(500)]
    runtime = a_runtime({"n": "r", "fmts": [*entries, {"f": "onnx", "auto": True}]}, "ServingRuntime")
    found = select(a_model({"f": "safetensors"}), [runtime], "ns", OURS, name="m", explain=True)
    assert "r (format name mismatch (model=safetensors, runtime=onnx))" in found.error
    assert len(found.error) < 500


@pytest.mark.parametrize(
    ("ranges", "awaited"),
    [
        ([["1B", "9B"]], ""),
        ([["1B", "9B"], ["1B", "9B"]], ""),
        ([["100B", "130B"], ["18B", "25B"]], "modelParameterSize"),
        ([["1B", "9B"], ["2B", "8B"]], "modelParameterSize"),
        ([["1B", "9B"], None], "modelParameterSize"),
        ([None, None], ""),
        ([["9B", "1B"], ["1B", "9B"]], "modelParameterSize"),
        ([["9B", "1B"], ["8B", "1B"]], ""),
        ([["?", ""], ["1B", "9B"]], "modelParameterSize"),
        ([], ""),
    ],
)
def test_the_size_is_awaited_where_it_decides(ranges, awaited):
    """Against all sizes at and between the ends of the ranges: is always the same runtime selected, if any?"""
    entry = {"f": "onnx", "auto": True}
    candidates = [
        a_runtime({"n": f"r{n}", "fmts": [entry], **({"size": each} if each else {})}, "ClusterServingRuntime")
        for n, each in enumerate(ranges)
    ]
    assert awaits(a_model({"f": "onnx"}), candidates) == awaited
    sizes = [f"{n / 2}B" for n in range(300)]
    winners = [select(a_model({"f": "onnx", "size": size}), candidates, "ns", OURS).winner for size in sizes]
    names = {winner.runtime.name for winner in winners if winner}
    first = select(a_model({"f": "onnx"}), candidates, "ns", OURS).winner
    assert (names <= {first.runtime.name if first else ""}) == (awaited == "")


def awaits(model: dict[str, Any], candidates: list[Any]) -> str:
    ranked = [(each.runtime, each.score) for each in select(model, candidates, "ns", OURS).ranked]
    return awaited_fields(Referent("BaseModel", {"spec": model}), ranked, runtime_lists(view_of(candidates), "ns"))


def view_of(candidates: list[Referent]) -> MemoryView:
    """A view with the runtimes; those that are not of the cluster are in namespace ns."""
    metadata = [{"namespace": "" if each.cluster_scoped else "ns", "name": each.name} for each in candidates]
    head = {"apiVersion": "ome.io/v1beta1"}
    objects = [(each.kind, {**each.object, **head}, meta) for each, meta in zip(candidates, metadata, strict=True)]
    return MemoryView({**obj, "kind": kind, "metadata": meta} for kind, obj, meta in objects)


@given(st.lists(st.tuples(st.sampled_from(["onnx", "gguf"]), st.sampled_from(["A", "B"]), st.booleans()), max_size=6))
def test_an_index_gives_the_runtimes_of_a_sort_in_the_order_of_all(offered: list[tuple[str, str, bool]]) -> None:
    kinds = ["ClusterServingRuntime" if clusters else "ServingRuntime" for *_, clusters in offered]
    entries = [[{"f": form}, {"f": "onnx", "arch": arch}] for form, arch, _ in offered]
    made = [
        a_runtime({"n": f"r{n}", "fmts": fmts}, kind) for n, (fmts, kind) in enumerate(zip(entries, kinds, strict=True))
    ]
    view, sorts = view_of(made), RANKINGS[OURS].sorts
    index = RuntimeIndex(sorts)
    for sort in {sort for each in made for sort in sorts(each.object)} | {("no", "such", "sort")}:
        wanted = [each for each in runtimes_in(runtime_lists(view, "ns")) if sort in sorts(each.object)]
        assert index.of(runtime_lists(view, "ns"), sort) == wanted
        assert index.of(runtime_lists(view, "other"), sort) == [each for each in wanted if each.cluster_scoped]
        assert index.of(runtime_lists(MemoryView(), "ns"), sort) == []
    every = {sort for each in made for sort in sorts(each.object)}
    assert index.of(runtime_lists(view, "ns"), *every) == [*runtimes_in(runtime_lists(view, "ns"))]


@pytest.mark.parametrize(
    ("model", "entry", "awaited"),
    [
        ({"f": "onnx"}, {"f": "onnx", "arch": "A"}, "modelArchitecture"),
        ({"f": "onnx"}, {"f": "onnx", "arch": "A", "lib": "t"}, "modelArchitecture and modelFramework"),
        ({"f": "onnx"}, {"f": "onnx", "fv": "1"}, "modelFormat.version"),
        ({"f": "onnx"}, {"f": "safetensors", "arch": "A"}, ""),
        ({"f": "onnx", "arch": "B"}, {"f": "onnx", "arch": "A"}, ""),
        ({"f": "onnx"}, {"f": "onnx", "q": "fp8"}, ""),  # the agent never finds the quantization
        ({"f": "onnx"}, {"f": "onnx", "arch": "A", "auto": False}, ""),
        ({}, {"f": "onnx"}, "modelFormat"),
    ],
)
def test_fields_are_awaited_that_let_another_runtime_match(model, entry, awaited):
    other = a_runtime({"n": "other", "fmts": [{"auto": True, **entry}]}, "ClusterServingRuntime")
    assert awaits(a_model({**model, "size": "7B"}), [other]) == awaited


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
    assert version_fits("1", "v1.0.0")
    assert not version_fits("1.0.0", "1.0.0-rc")
    assert not version_fits("2024.08", "2024.08")


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
def test_a_size_of_a_model_is_parsed_or_refused(text, size):
    assert parse_size(text) == size


def test_megabytes_of_digits_that_are_not_a_size_are_refused_at_once():
    assert parse_size("9" * 1_000_000 + "xB") is None


def test_ranges_may_be_open():
    assert range_of({"modelSizeRange": {"min": "7B"}}).holds("900B")
    assert not range_of({"modelSizeRange": {"max": "7B"}}).holds("7.1B")
    assert range_of({"modelSizeRange": {}}) is None
