"""Environment of a container: values, and references to fields, resources, ConfigMaps, Secrets and files."""

from __future__ import annotations

from typing import Any, Final

from webhook.golang.names import label_key
from webhook.golang.quantity import Quantity
from webhook.kubernetes.judge import DATA, Judge, plain, rule
from webhook.kubernetes.values import Json, field, quantity, text
from webhook.schema.fielderror import invalid, not_supported, required

__all__ = ["are_names", "check_field_ref", "check_resource_ref"]

_ENV: Final[list[str]] = DATA["fieldPaths"]["env"]
_KNOWN: Final = frozenset(DATA["fieldPaths"]["known"])
_RESOURCES: Final[list[str]] = DATA["fieldPaths"]["resources"]
_HUGE: Final = ("requests.hugepages-", "limits.hugepages-")
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_OF_NAMES: Final = bytes(range(0x20, 0x7F))
"""The characters of names of variables, and "="."""
_SIZES: Final = frozenset({"1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E"))}) | {
    f"1{unit}i" for unit in "KMGTPE"
}
_SIZES_TEXT: Final = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"


@plain("EnvVar")
def _are_plain(variables: list[Any]) -> bool:
    """Whether each is a name and a text; the API server has read them already, so values of other types are rare."""
    try:
        names = [variable["name"] for variable in variables if "valueFrom" not in variable]
        return len(names) == len(variables) and are_names(names)
    except (KeyError, TypeError):
        return False


def are_names(names: list[str]) -> bool:
    """Whether each is the name of a variable. They are looked at together: a pod has many."""
    written = "=".join(names)
    if written.count("=") >= len(names) or "==" in f"={written}=":  # within a name, or around an empty one
        return not names
    return written.isascii() and not written.encode().translate(None, _OF_NAMES)


@rule("EnvVar")
def _variable(judge: Judge, value: Json, at: str) -> None:
    source = value.get("valueFrom")
    if not isinstance(source, dict):
        return
    path, found = f"{at}valueFrom", sum(isinstance(source.get(key), dict) for key in _SOURCES)
    file = field(source, "fileKeyRef")
    if file is not None:
        judge.pod.files.append((f"{path}.fileKeyRef.volumeName", text(file, "volumeName")))
    if not found:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        judge.whole(invalid(path, "", f"must specify one of: {names}"))
    elif text(value, "value"):
        judge.say(invalid(path, "", "may not be specified when `value` is not empty"))
    elif found > 1:
        judge.say(invalid(path, "", "may not have more than one field specified at a time"))


@rule("EnvFromSource")
def _source(judge: Judge, value: Json, at: str) -> None:
    path = at[: at.rindex("[")]
    found = sum(isinstance(value.get(key), dict) for key in ("configMapRef", "secretRef"))
    if not found:
        judge.say(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    elif found > 1:
        judge.say(invalid(path, "", "may not have more than one field specified at a time"))


@rule("ObjectFieldSelector")
def _env_field(judge: Judge, value: Json, at: str) -> None:
    check_field_ref(judge, value, at, _ENV)


def check_field_ref(judge: Judge, value: Json, at: str, allowed: list[str]) -> None:
    """``validateObjectFieldSelector``."""
    path, version = text(value, "fieldPath"), text(value, "apiVersion") or "v1"
    if not path:
        judge.whole(required(f"{at}fieldPath"))
        return
    problem = _unknown_field(path, version)
    if problem:
        judge.say(invalid(f"{at}fieldPath", path, f"error converting fieldPath: {problem}"))
        return
    base, key = _subscript(path)
    if key is not None:
        key = key.lower() if base == "metadata.annotations" else key
        for fault in label_key(key):
            judge.say(invalid(at[:-1], key, fault))
    elif (base := "spec.nodeName" if base == "spec.host" else base) not in allowed:
        judge.say(not_supported(f"{at}fieldPath", base, allowed))


def _unknown_field(path: str, version: str) -> str:
    """``ConvertDownwardAPIFieldLabel``."""
    if version != "v1":
        return f"unsupported pod version: {version}"
    base, key = _subscript(path)
    if key is not None:
        known = base in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {path}"
    return "" if path in _KNOWN or path == "spec.host" else f"field label not supported: {path}"


def _subscript(path: str) -> tuple[str, str | None]:
    """``SplitMaybeSubscriptedPath``: ``metadata.labels['a']`` is ``metadata.labels`` and ``a``."""
    base, opened, key = path.removesuffix("']").partition("['")
    return (base, key) if path.endswith("']") and opened and base else (path, None)


@rule("ResourceFieldSelector")
def _env_resource(judge: Judge, value: Json, at: str) -> None:
    check_resource_ref(judge, value, at)


def check_resource_ref(judge: Judge, value: Json, at: str, *, volume: bool = False) -> None:
    """``validateContainerResourceFieldSelector``."""
    name = text(value, "resource")
    if volume and not text(value, "containerName"):
        judge.whole(required(f"{at}containerName"))
    elif not name:
        judge.whole(required(f"{at}resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        judge.say(not_supported(f"{at}resource", name, _RESOURCES))
    divisor = quantity(value.get("divisor"))
    if divisor is not None and divisor.sign():
        _check_divisor(judge, name, divisor, f"{at}divisor")


def _check_divisor(judge: Judge, name: str, divisor: Quantity, path: str) -> None:
    kind = name.partition(".")[2]
    if name.startswith(_HUGE):
        kind = "hugepages"
    if kind == "cpu" and name in _RESOURCES and str(divisor) not in ("1m", "1"):
        judge.say(invalid(path, name, "only divisor's values 1m and 1 are supported with the cpu resource"))
    elif kind != "cpu" and (name in _RESOURCES or kind == "hugepages") and str(divisor) not in _SIZES:
        noun = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        judge.say(invalid(path, name, f"only divisor's values {_SIZES_TEXT} are supported with the {noun} resource"))
