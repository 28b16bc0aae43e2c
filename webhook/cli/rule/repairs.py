"""Repairs: what to change in a case in which a rule fires, so that it does not.

A case lists them by code, each as the leaves to set: ``repairs: {LK205: {spec.source: pvc://claim/m.gguf}}``. A path
names fields (``spec.files``, ``metadata.labels['a.b/c']``), items of lists (``spec.files[0]``) and further objects of
the case (``others[ClusterBaseModel/m].spec.disabled``). The value null removes a leaf; ``others[+]`` adds an object.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from webhook.admission import Cause, Warn
from webhook.catalog import Catalog, KnownKind
from webhook.cli.cases import Case, CaseResult, catalogs, run, written
from webhook.policy import MISSING

Patch = Mapping[str, Any]

_SEGMENT: Final = re.compile(
    r"\.?(?P<name>[A-Za-z_$][\w$-]*)|\['(?P<quoted>[^']*)'\]|\[(?P<index>\d+)\]|\[(?P<kind>\w+)/(?P<object>[\w.-]+)\]"
    r"|\[(?P<add>\+)\]"
)


class RepairError(ValueError):
    """A repair whose path is wrong; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Example:
    """A case in which a rule fires, and the same case repaired; the kind is that of the release that the case names."""

    code: str
    known: KnownKind
    case: Case
    bad: CaseResult
    good: CaseResult


def run_example(code: str, case: Case, known: KnownKind, catalog: Catalog) -> Example:
    """Run a case and its repair for a code.

    Raises:
        RepairError: the repair cannot be applied to the case.
    """
    for found in catalogs(case, known.api, catalog):
        known = found.kinds[known.gvk]
    changed = repaired(case, known, case.repairs[code])
    return Example(code, known, case, run(case, known, catalog), run(changed, known, catalog))


def repaired(case: Case, known: KnownKind, patch: Patch) -> Case:
    """The case with the leaves of a repair set.

    Raises:
        RepairError: a path is not valid, or leads nowhere.
    """
    obj = written(case, known)
    root = copy.deepcopy({**obj, "others": case.others})
    for path, value in patch.items():
        _set(root, path, value)
    others = root.pop("others")
    return case.model_copy(update={"object": root, "spec": MISSING, "others": others})


def said(result: CaseResult, code: str) -> list[str]:
    """What the findings and defaults of a code say, each as it is printed."""
    causes, warnings = result.validation.causes, result.validation.warnings
    everything: list[Cause | Warn] = [*causes, *warnings]
    findings = [str(each) for each in everything if each.code == code]
    findings += [str(cause) for cause in causes if any(hint.code == code for hint in cause.hints)]
    filled = [each for each in result.mutation.defaults if each.code == code and not each.removed]
    return findings + [f"{each.path}: {each.value!r} ({each.because})" for each in filled]


def needed_objects(example: Example, catalog: Catalog) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The further objects without which the rule would say something else, in the bad case and in the good one."""
    found = []
    for result in (example.bad, example.good):
        expected, others = _verdict(result), list(result.case.others)
        for each in result.case.others:
            fewer = [other for other in others if other is not each]
            trial = run(result.case.model_copy(update={"others": fewer}), example.known, catalog)
            if _verdict(trial) == expected:
                others = fewer
        found.append(others)
    return found[0], found[1]


def _verdict(result: CaseResult) -> tuple[list[str], object]:
    findings = (*result.validation.causes, *result.validation.warnings)
    return sorted(map(str, findings)), result.mutation.object


def _set(root: Any, path: str, value: Any) -> None:
    keys = _keys(path)
    node = root
    for key, following in pairwise(keys):
        node = _step(node, key, path, [] if following == "+" or isinstance(following, int) else {})
    last = keys[-1]
    if last == "+" and isinstance(node, list):
        node.append(value)
    elif isinstance(node, list):
        index = _index(node, last, path)
        node[index : index + 1] = [] if value is None else [value]
    elif not isinstance(node, dict):
        raise RepairError(f"{path}: there is no object or list above its last part")
    elif value is None:
        if last not in node:
            raise RepairError(f"{path}: there is nothing to remove")
        del node[last]
    else:
        node[last] = value


def _step(node: Any, key: Any, path: str, new: Any) -> Any:
    if isinstance(node, list):
        return node[_index(node, key, path)]
    if not isinstance(node, dict):
        raise RepairError(f"{path}: there is no object or list above {key!r}")
    if node.get(key) is None:
        node[key] = new
    return node[key]


def _index(items: list[Any], key: Any, path: str) -> int:
    """The place of an item: its number, or that of the object with this kind and name."""
    if isinstance(key, int) and key < len(items):
        return key
    if isinstance(key, tuple):
        for index, item in enumerate(items):
            if (item.get("kind"), item.get("metadata", {}).get("name")) == key:
                return index
    raise RepairError(f"{path}: there is no item {key!r}")


def _keys(path: str) -> list[Any]:
    keys: list[Any] = []
    position = 0
    while position < len(path):
        match = _SEGMENT.match(path, position)
        if match is None or (position == 0 and path[0] in ".["):
            raise RepairError(f"{path!r} is not a valid path at column {position + 1}; use a.b, a['b.c'] or a[0]")
        found = match.groupdict()
        if found["index"] is not None:
            keys.append(int(found["index"]))
        elif found["kind"] is not None:
            keys.append((found["kind"], found["object"]))
        else:
            keys.append(next(text for text in (found["name"], found["quoted"], found["add"]) if text is not None))
        position = match.end()
    if not keys:
        raise RepairError("the path is empty")
    return keys
