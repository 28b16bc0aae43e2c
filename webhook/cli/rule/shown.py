"""What a page shows of an example: both objects, and what else is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import yaml

from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog
from webhook.cli.cases import Case, written
from webhook.cli.rule.repairs import Example, needed_objects, said
from webhook.facts.settings import DEFAULT_SETTINGS

__all__ = ["Shown", "shown", "yaml_of"]


class Shown(NamedTuple):
    """``bad`` gets the texts of ``said`` beside the objects of ``cluster``, as an update of ``stored``; ``good`` does
    not, beside those of ``added``, too. What is stored has what is filled in; the others are as their user writes them.
    """

    title: str
    bad: dict[str, Any]
    stored: dict[str, Any] | None
    cluster: list[dict[str, Any]]
    said: list[str]
    good: dict[str, Any]
    added: list[dict[str, Any]]


def shown(example: Example, loaded: Catalog) -> Shown:
    """An example without objects that change nothing."""
    before, after = needed_objects(example, loaded)
    known, case = example.known, example.case
    old = example.bad.request.old_object
    return Shown(
        f"{case.name}{_circumstances(case)}",
        _own(written(case, known)),
        None if old is None else _own(old),
        before,
        said(example.bad, example.code),
        _own(written(example.good.case, known)),
        [each for each in after if each not in before],
    )


def _circumstances(case: Case) -> str:
    """The profile and the settings of a case, where they are not the usual ones."""
    values = {each.name: getattr(case.settings, each.name) for each in fields(case.settings)}
    changed = {name: value for name, value in values.items() if value != getattr(DEFAULT_SETTINGS, name)}
    flags = [_flag(name.replace("_", "-"), value) for name, value in changed.items()]
    profile = [f"--profile={case.profile}"] if case.profile != "standard" else []
    return f" (with {' '.join((*profile, *flags))})" if flags or profile else ""


def _flag(name: str, value: object) -> str:
    """A setting as `modelgate check` takes it."""
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no-{name}"
    return f"--{name}={value}"


def _own(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What the user of a case writes, without a name and a namespace that do not matter."""
    metadata = obj["metadata"]
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != ANNOTATION}
    metadata = {**metadata, "annotations": annotations}
    usual = {"name": "case", "namespace": "default", "annotations": {}}
    metadata = {key: value for key, value in metadata.items() if value != usual.get(key)}
    rest = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    return {**({"metadata": metadata} if metadata else {}), **rest}


def yaml_of(*objects: Mapping[str, Any]) -> str:
    """Objects as they are written to a file."""
    texts = (yaml.dump(each, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100) for each in objects)
    return "---\n".join(texts).rstrip()


class _Plain(yaml.SafeDumper):
    """Without anchors: a value that stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the method of the base class
        return True
