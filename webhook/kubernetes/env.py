"""Environment of a container: values, and references to fields, resources, ConfigMaps, Secrets and files."""

from __future__ import annotations

from typing import Any, Final

from webhook.golang.names import label_key
from webhook.golang.quantity import Quantity
from webhook.ground.fieldpath import FieldPath
from webhook.kubernetes.judge import DATA, Judge, list_rule, rule, walk
from webhook.kubernetes.shown import cut
from webhook.kubernetes.values import Json, field, quantity, structs, text
from webhook.schema.fielderror import invalid, not_supported, required

_ENV: Final[list[str]] = DATA["fieldPaths"]["env"]
_FIELDS: Final = frozenset(DATA["fieldPaths"]["known"])
_RESOURCES: Final[list[str]] = DATA["fieldPaths"]["resources"]
_HUGE: Final = ("requests.hugepages-", "limits.hugepages-")
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_SIZES: Final = frozenset({"1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E"))}) | {
    f"1{unit}i" for unit in "KMGTPE"
}
_SIZES_TEXT: Final = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"


@list_rule("EnvVar")
def _variables(judge: Judge, variables: list[Any], path: FieldPath) -> None:
    """A pod has many variables. Most have only a text, and their names are looked at together."""
    texts = _count_right_texts(variables)
    for index, variable in structs({"env": variables}, "env") if texts < len(variables) else ():
        if not texts or "valueFrom" in variable:
            walk(judge, "EnvVar", variable, path.index(index))


def _count_right_texts(variables: list[Any]) -> int:
    """How many variables have no source; 0 if the name of one of these is wrong."""
    try:
        names = [variable["name"] for variable in variables if "valueFrom" not in variable]
        written = "=".join(names)
    except (KeyError, TypeError):  # absent, or of the wrong type
        return 0
    are_right = all(names) and written.count("=") < len(names) and written.isascii() and written.isprintable()
    return len(names) if are_right else 0


@rule("EnvVar")
def _variable(judge: Judge, value: Json, at: FieldPath) -> None:
    source = value.get("valueFrom")
    if not isinstance(source, dict):
        return
    path, sources = at.child("valueFrom"), sum(isinstance(source.get(key), dict) for key in _SOURCES)
    file = field(source, "fileKeyRef")
    if file is not None:
        judge.pod.files.append((path.child("fileKeyRef", "volumeName"), text(file, "volumeName")))
    if not sources:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        judge.add(invalid(path, "", f"must specify one of: {names}"), only_if_complete=True)
    elif text(value, "value"):
        judge.add(invalid(path, "", "may not be specified when `value` is not empty"))
    elif sources > 1:
        judge.add(invalid(path, "", "may not have more than one field specified at a time"))


@rule("EnvFromSource")
def _source(judge: Judge, value: Json, at: FieldPath) -> None:
    path = at.parent or at
    sources = sum(isinstance(value.get(key), dict) for key in ("configMapRef", "secretRef"))
    if not sources:
        judge.add(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif sources > 1:
        judge.add(invalid(path, "", "may not have more than one field specified at a time"))


@rule("ObjectFieldSelector")
def _env_field(judge: Judge, value: Json, at: FieldPath) -> None:
    check_field_ref(judge, value, at, _ENV)


def check_field_ref(judge: Judge, value: Json, at: FieldPath, allowed: list[str]) -> None:
    """``validateObjectFieldSelector``."""
    path, version = text(value, "fieldPath"), text(value, "apiVersion") or "v1"
    if not path:
        judge.add(required(at.child("fieldPath")), only_if_complete=True)
        return
    problem = _unknown_field(path, version)
    if problem:
        judge.add(invalid(at.child("fieldPath"), path, f"error converting fieldPath: {problem}"))
        return
    base, key = _subscript(path)
    if key is not None:
        key = key.lower() if base == "metadata.annotations" else key
        judge.add_invalid(label_key(key), key, at)
    elif (base := "spec.nodeName" if base == "spec.host" else base) not in allowed:
        judge.add(not_supported(at.child("fieldPath"), base, allowed))


def _unknown_field(path: str, version: str) -> str:
    """``ConvertDownwardAPIFieldLabel``."""
    if version != "v1":
        return f"unsupported pod version: {cut(version)}"
    base, key = _subscript(path)
    if key is not None:
        is_map = base in ("metadata.annotations", "metadata.labels")
        return "" if is_map else f"field label does not support subscript: {cut(path)}"
    return "" if path in _FIELDS or path == "spec.host" else f"field label not supported: {cut(path)}"


def _subscript(path: str) -> tuple[str, str | None]:
    """``SplitMaybeSubscriptedPath``: ``metadata.labels['a']`` is ``metadata.labels`` and ``a``."""
    base, opened, key = path.removesuffix("']").partition("['")
    return (base, key) if path.endswith("']") and opened and base else (path, None)


@rule("ResourceFieldSelector")
def _env_resource(judge: Judge, value: Json, at: FieldPath) -> None:
    check_resource_ref(judge, value, at)


def check_resource_ref(judge: Judge, value: Json, at: FieldPath, *, volume: bool = False) -> None:
    """``validateContainerResourceFieldSelector``."""
    name = text(value, "resource")
    if volume and not text(value, "containerName"):
        judge.add(required(at.child("containerName")), only_if_complete=True)
    elif not name:
        judge.add(required(at.child("resource")), only_if_complete=True)
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        judge.add(not_supported(at.child("resource"), name, _RESOURCES))
    divisor = quantity(value.get("divisor"))
    if divisor is not None and divisor.sign():
        _check_divisor(judge, name, divisor, at.child("divisor"))


def _check_divisor(judge: Judge, name: str, divisor: Quantity, path: FieldPath) -> None:
    kind = name.partition(".")[2]
    if name.startswith(_HUGE):
        kind = "hugepages"
    if kind == "cpu" and name in _RESOURCES and str(divisor) not in ("1m", "1"):
        judge.add(invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource"))
    elif kind != "cpu" and (name in _RESOURCES or kind == "hugepages") and str(divisor) not in _SIZES:
        noun = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        judge.add(invalid(path, name, f"only divisor's values {_SIZES_TEXT} are supported with the {noun} resource"))
