"""`modelgate pack new`: a folder of an API's definitions, with stubs of the rules that its texts ask for."""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from webhook import catalog
from webhook.admission.errors import DocumentError, Problem
from webhook.catalog import NO_PACK, KnownKind, Pack
from webhook.cli import GOOD
from webhook.cli.cases import Case
from webhook.cli.cases import run as run_case
from webhook.cli.output import say
from webhook.cli.pack.smallest import smallest_object, smallest_values
from webhook.cli.pack.stubs import stubs
from webhook.library.apiserver import read_definitions

_MOST: Final = 200
"""Stubs of one kind."""
Node = Mapping[str, Any]


def run(options: argparse.Namespace) -> int:
    """Exit code 0; 2 without a definition, for one that is not valid, and where a file is in the way."""
    found = [each.value for each in read_definitions(options.crds)]
    found = [each for each in found if options.kind in {None, each["spec"]["names"]["kind"]}]
    groups = sorted({each["spec"]["group"] for each in found})
    if not groups or (len(groups) > 1 and options.into is None):
        several = f"has definitions of {', '.join(groups)}: give --into DIR"
        message = several if groups else f"does not define {options.kind}"
        raise DocumentError([Problem(", ".join(map(str, options.crds)), "", message)])
    for definition in found:
        for version in definition["spec"]["versions"]:
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            smallest_values(schema, definition["metadata"]["name"])
    name = re.sub(r"[^a-z0-9-]", "-", groups[0].partition(".")[0])
    folder = options.into or Path(name)
    before = NO_PACK if options.force or not folder.is_dir() else Pack.of(folder, trusted=False)
    letters = before.codes[0] if before.codes else _letters(name)
    texts = {Path("pack.yaml"): _pack(folder.name, name, letters, groups)}
    codes = (f"{letters}{number}" for number in range(_first(folder, letters), 1_000))  # a code is of one rule
    for definition in found:
        kind = definition["spec"]["names"]["kind"]
        texts[Path("crds", f"{definition['spec']['names']['plural']}.yaml")] = _dumped(definition)
        if options.force or not (folder / f"{kind.lower()}.yaml").exists():
            texts[Path(f"{kind.lower()}.yaml")] = _policy(folder.name, definition, codes)
    written = _write(folder, texts, force=options.force)
    if not written:
        there = sorted(folder / path for path in texts)
        raise DocumentError([Problem(str(each), "", "is there already; use --force to replace it") for each in there])
    loaded = catalog.load(folder)
    cases = dict[Path, str]()
    for gvk, known in loaded.kinds.items():
        path = Path("cases", f"{gvk.kind.lower()}.yaml")
        if path in cases:
            cases[path] += f"---\n{_cases(known, loaded, f'the smallest object of {gvk.version}')}"
        else:
            cases[path] = _cases(known, loaded, "the smallest object")
    written += _write(folder, cases, force=options.force)
    for path in written:
        say(str(path))
    if before.codes and (more := sorted({*groups} - {*before.groups})):
        say(f"add {', '.join(more)} to spec.groups of {folder / 'pack.yaml'}")
    say(f"write rules in the policies, and see what is missing by: modelgate pack check {folder}")
    return GOOD


def _write(folder: Path, texts: Mapping[Path, str], *, force: bool) -> list[Path]:
    """Write what is not there, with ``force`` all; the paths that were written."""
    written = [folder / path for path in texts if force or not (folder / path).exists()]
    for path in written:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path.relative_to(folder)], encoding="utf-8")
    return written


def _first(folder: Path, letters: str) -> int:
    """The first number after those of the codes in a folder, also of stubs."""
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in folder.glob("*.yaml"))
    taken = (int(found) for text in texts for found in re.findall(rf"\bcode: {letters}(2\d\d)\b", text))
    return max(taken, default=200) + 1


def _letters(name: str) -> str:
    """Two letters for codes that no built-in pack has: of the name, if possible."""
    taken = {letters for pack in catalog.load().packs.values() for letters in pack.codes} | {"KC", "KP"}
    own = [each for each in name.upper() if each.isalpha() and each.isascii()]
    pairs = itertools.chain(itertools.combinations(own, 2), itertools.product("XYZ", repeat=2))
    return next(each for each in map("".join, pairs) if each not in taken)


_CHILDREN: Final = (
    "  # The objects that the operator makes of this one, which are judged with it: see docs/policies.md.",
    "  # children:",
    "  # - name: deployment",
    "  #   becomes: the Deployment is refused, and the object stays Pending",
    "  #   object:",
    "  #     apiVersion: apps/v1",
    "  #     kind: Deployment",
    '  #     metadata: {name: "${object.metadata.name}"}',
    "  #     spec:",
    '  #       selector: {matchLabels: {app: "${object.metadata.name}"}}',
    "  #       template:",
    '  #         metadata: {labels: {app: "${object.metadata.name}"}}',
    '  #         spec: {containers: [{name: server, image: a/server:1, env: [{$all: "${object.spec.?env}"}]}]}',
)


def _pack(folder: str, name: str, letters: str, groups: Sequence[str]) -> str:
    head = {"apiVersion": "modelgate.dev/v1alpha1", "kind": "Pack", "metadata": {"name": folder}}
    return _dumped({**head, "spec": {"operator": name, "codes": [letters], "groups": groups}})


def _policy(folder: str, definition: Node, codes: Iterator[str]) -> str:
    """A policy without rules, and what the schema and its texts ask for as comments."""
    spec = definition["spec"]
    served = [each for each in spec["versions"] if each.get("served")]
    target = {"group": spec["group"], "versions": [each["name"] for each in served], "kind": spec["names"]["kind"]}
    name = f"{folder}-{spec['names']['kind'].lower()}"
    head = {"apiVersion": "modelgate.dev/v1alpha1", "kind": "Policy", "metadata": {"name": name}}
    text = _dumped({**head, "spec": {"target": target}})
    asked = stubs(definition, target["versions"])
    lines = [f"# Rules for {target['kind']}: each is one of the stubs below, with an expression of CEL.", text.rstrip()]
    lines.append("  # validations:")
    for stub, code in zip(itertools.islice(asked, _MOST), codes, strict=False):
        lines += ["", *(f"  # {line}" for line in stub.lines(code))]
    return "\n".join((*lines, "", *_CHILDREN)) + "\n"


def _cases(known: KnownKind, loaded: catalog.Catalog, name: str) -> str:
    """A case of the smallest object, with what is said of it now."""
    body = smallest_object(known)
    part = {"spec": body["spec"]} if body.keys() == {"spec"} else {"object": body}
    case = Case.model_validate({"name": name, **part, "expect": {}})
    validation = run_case(case, known, loaded).validation
    said = {
        "deny": [each.code or each.field for each in validation.causes],
        "warn": [each.code or each.field for each in validation.warnings],
    }
    expect = {word: list(dict.fromkeys(found)) for word, found in said.items() if found}
    target = {"group": known.gvk.group, "version": known.gvk.version, "kind": known.gvk.kind}
    head = {"apiVersion": "modelgate.dev/v1alpha1", "kind": "Cases", "target": target}
    return _dumped({**head, "cases": [{"name": case.name, **part, "expect": expect}]})


def _dumped(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)
