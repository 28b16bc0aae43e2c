"""What unrelated things cost: admission policies for other kinds, and objects in view that a service does not use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from os import getpid
from pathlib import Path
from typing import Any

import yaml

from tests.bench import ome
from tests.bench.objects import body, normalised, sparse
from tests.bench.report import Row, Table
from tests.bench.stages import asked, serving
from tests.bench.timing import memory_of, warm_in_turn
from webhook import catalog
from webhook.catalog import Catalog
from webhook.cluster.store import Store
from webhook.cluster.view import Key, Kind
from webhook.engine import policyset
from webhook.serve.gate import Gate

POLICIES = (0, 10, 100, 1_000)
OBJECTS = (10, 100, 1_000, 10_000, 100_000)
REVIEWS = 50
CALLS = ("mutate", "validate")


def tables(*, quick: bool = False) -> list[Table]:
    loaded = catalog.load()
    policies = Table(
        "Unrelated admission policies",
        "ValidatingAdmissionPolicies for other kinds, each with a binding, beside the rules; a sparse Model, warm, in "
        "process, bytes to bytes.",
        _columns("none"),
    )
    raw = [body(sparse(number), number) for number in range(REVIEWS)]
    checked = [normalised(each, loaded) for each in raw]
    base = serving(Gate(catalog=loaded), raw, checked)
    for count in POLICIES[:2] if quick else POLICIES:
        gate = Gate(catalog=loaded)
        with tempfile.TemporaryDirectory() as name:
            Path(name, "policies.yaml").write_text("\n---\n".join(_policies(count)))
            if count:
                gate.use_policies(policyset.load(Path(name)))
        serving(gate, raw, checked)
        policies.rows.append(Row(f"{count:,} policies", _cells("none", gate, base, raw, checked)))
    return [policies, _objects(loaded, OBJECTS[:3] if quick else OBJECTS)]


def _columns(base: str) -> tuple[str, ...]:
    return (*(f"{call} µs" for call in CALLS), *(f"{call} ÷ {base}" for call in CALLS))


def _cells(
    name: str, gate: Gate, base: Gate, raw: Sequence[bytes], checked: Sequence[bytes]
) -> dict[str, Sequence[float]]:
    """Microseconds of both calls, and the quotients with those of another gate, asked in turn with this one."""
    found: dict[str, Sequence[float]] = {}
    for call, inputs in zip(CALLS, (raw, checked), strict=True):
        mine, others = warm_in_turn([asked(gate, call), asked(base, call)], inputs)
        found[f"{call} µs"] = mine
        found[f"{call} ÷ {name}"] = [one / other for one, other in zip(mine, others, strict=True)]
    return found


def _policies(count: int) -> Iterator[str]:
    for number in range(count):
        rule = {
            "apiGroups": [f"group-{number}.example"],
            "apiVersions": ["v1"],
            "operations": ["*"],
            "resources": ["*"],
        }
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": f"object.metadata.name.size() < {number + 10}"}],
        }
        yield _document("ValidatingAdmissionPolicy", f"policy-{number}", spec)
        spec = {"policyName": f"policy-{number}", "validationActions": ["Deny"]}
        yield _document("ValidatingAdmissionPolicyBinding", f"binding-{number}", spec)


def _document(kind: str, name: str, spec: dict[str, Any]) -> str:
    api = "admissionregistration.k8s.io/v1"
    return yaml.safe_dump({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})


def _objects(loaded: Catalog, counts: tuple[int, ...]) -> Table:
    """Half of the objects are models and services of other namespaces, half are runtimes for other formats."""
    note = (
        "Unrelated objects in view: models and runtimes of other namespaces, and runtimes for other formats. An "
        "InferenceService whose runtime is chosen among 20 that fit or nearly fit, warm, in process, bytes to bytes."
    )
    table = Table("Unrelated objects in view", note, (*_columns("fewest"), "RSS MiB"))
    base: Gate | None = None
    near = [*ome.models()[:20], *ome.runtimes()[:20]]
    for count in counts:
        view = HeldView([*near, *_unrelated(count)])
        gate = Gate(catalog=loaded, view=view)
        raw = [body(_service(number), number) for number in range(REVIEWS)]
        checked = [normalised(each, loaded, view) for each in raw]
        base = base or gate
        cells = _cells("fewest", serving(gate, raw, checked), base, raw, checked)
        table.rows.append(Row(f"{count:,} objects", {**cells, "RSS MiB": [memory_of(getpid())]}))
    return table


class HeldView:
    """A view of objects as the server holds them: one store for each kind."""

    def __init__(self, objects: Iterable[dict[str, Any]]) -> None:
        self._stores: dict[Kind, Store] = {}
        for obj in objects:
            store = self._stores.setdefault(Kind(obj["apiVersion"].rpartition("/")[0], obj["kind"]), Store())
            store.put(Key.of(obj), obj)

    def get(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self._stores.get(kind, _NOTHING).get(Key(namespace, name))

    def list(self, kind: Kind, namespace: str | None = None) -> Sequence[dict[str, Any]]:
        return self._stores.get(kind, _NOTHING).list(namespace)


_NOTHING = Store()


def _service(number: int) -> dict[str, Any]:
    obj = ome.service(f"model-{number % 20}")
    obj["metadata"]["name"] = f"chat-{number}"
    return obj


def _unrelated(count: int) -> Iterator[dict[str, Any]]:
    sort = (_model, _runtime, _foreign_runtime)
    for number in range(count):
        yield sort[number % 3](number)


def _model(number: int) -> dict[str, Any]:
    spec = {**ome.format_of(number), "storage": {"storageUri": f"hf://example/{number}"}}
    return ome.document("ClusterBaseModel", f"other-{number}", spec)


def _runtime(number: int) -> dict[str, Any]:
    """A runtime for a format that no model has."""
    format_ = {"modelFormat": {"name": f"format-{number}"}, "autoSelect": True, "priority": 1}
    return ome.document("ClusterServingRuntime", f"other-{number}", {"supportedModelFormats": [format_]})


def _foreign_runtime(number: int) -> dict[str, Any]:
    """A runtime of another namespace."""
    obj = ome.document("ServingRuntime", f"other-{number}", {"supportedModelFormats": [ome.format_of(number)]})
    obj["metadata"]["namespace"] = f"team-{number % 500}"
    return obj
