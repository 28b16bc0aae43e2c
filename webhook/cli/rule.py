"""`modelgate rule`: explain one rule, with an object in which it fires and the same object repaired."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from textwrap import fill, indent
from typing import Any, NamedTuple

import yaml

from webhook.admission import GroupVersionKind
from webhook.admission.stamp import ANNOTATION
from webhook.cli import choices
from webhook.cli.cases import Case, CaseResult, is_about
from webhook.cli.exits import GOOD, USAGE
from webhook.cli.output import say
from webhook.cli.repairs import Example, needed_objects, run_example, said
from webhook.cli.report.ignoring import unknown
from webhook.cli.report.podcodes import KUBERNETES, pod_code, retired
from webhook.cli.shell.parser import Commands, command
from webhook.cli.test import read_cases
from webhook.engine import catalog
from webhook.engine.catalog import Catalog, KnownKind
from webhook.engine.releases.operators import forms
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.library.findings import CODES
from webhook.policy import Action, DefaultRule, Expression, FactValue, ValidationRule

__all__ = ["add_parser", "explained", "page_of", "run"]


def add_parser(commands: Commands) -> None:
    parser = command(
        commands,
        "rule",
        "Explain the rule with a code, such as LK205: why it exists, with an object in which it fires, and "
        "the same object repaired.",
    )
    parser.add_argument("code", nargs="?", metavar="CODE", help="the code of a finding; without it, list all codes")
    choices.add_packs(parser)
    parser.add_argument("--source", action="store_true", help="print the Python that its expressions compile to")


def run(options: argparse.Namespace) -> int:
    if options.code is not None and options.code.lower() in CODES:
        print(f"{options.code.lower()}\n\n{fill(CODES[options.code.lower()], 100)}")
        return GOOD
    if options.code is not None and (told := pod_code(options.code.upper())):
        print("\n".join(told))
        return GOOD
    loaded = catalog.load(packs=options.packs)
    if options.code is None:
        print("\n".join(_list(loaded)))
        return GOOD
    code = options.code.upper()
    if found := list(_rules(code, loaded)):
        print("\n\n".join("\n".join(_told(each, loaded, source=options.source)) for each in found))
        return GOOD
    said = unknown(options.code, [*sorted(loaded.codes()), *KUBERNETES, *CODES])
    letters = {each for pack in loaded.packs.values() for each in pack.codes}
    more = "" if code[:2] in letters else " (of a folder of your own: add --policies DIR)"
    say(f"modelgate rule: {said}{more}", sys.stderr)
    return USAGE


class _Found(NamedTuple):
    """A rule, in a catalog of a release that it is true of."""

    rule: DefaultRule | ValidationRule
    known: KnownKind
    loaded: Catalog


def _all_rules(loaded: Catalog) -> Iterator[_Found]:
    """Every rule of every release: of those with one code and one range, the first."""
    seen: set[tuple[str, str]] = set()
    for form in forms(loaded):
        for known in form.kinds.values():
            for rule in known.policy.rules:
                if (rule.code, rule.operator) not in seen:
                    seen.add((rule.code, rule.operator))
                    yield _Found(rule, known, form)


def _rules(code: str, loaded: Catalog) -> Iterator[_Found]:
    """The rules with a code: several, if they are true of different releases."""
    told = set[str | None]()
    for each in _all_rules(loaded):
        if each.rule.code == code:
            yield each
            told.add(each.rule.operator or None)
            if told == set(_ranges(each)):
                return


def _ranges(found: _Found) -> Iterator[str | None]:
    """The ranges of all forms of a rule; None of one without."""
    for source in found.known.sources:
        spec = source.document.spec
        yield from (rule.operator for rule in (*spec.defaults, *spec.validations) if rule.code == found.rule.code)


def _told(found: _Found, loaded: Catalog, *, source: bool) -> Iterator[str]:
    return _sources(*found) if source else _explain(*found, _example(found.rule, found.known, loaded))


def explained(loaded: Catalog) -> Iterator[tuple[str, list[str]]]:
    """Every code, and the lines that explain it; retired ones, too."""
    for code in (*KUBERNETES, *sorted(retired())):
        yield code, pod_code(code) or []
    repairs = list(_repairs(sorted({known.api for known in loaded.kinds.values()}), loaded))
    pages: dict[str, list[str]] = {}
    for each in _all_rules(loaded):
        lines = _explain(*each, _example(each.rule, each.known, loaded, repairs))
        pages.setdefault(each.rule.code, []).extend(["", *lines] if each.rule.code in pages else lines)
    yield from pages.items()


def page_of(code: str, known: KnownKind, loaded: Catalog) -> tuple[str, str]:
    """A sentence about the rule of a kind, and its page without the example; "" if the kind has no such rule."""
    found = ((rule, form) for form in forms(loaded) for rule in form.kinds[known.gvk].policy.rules if rule.code == code)
    for rule, form in found:
        sentence = f"{' '.join(rule.docs.split()).partition('. ')[0].rstrip('.')}."
        more = f"`modelgate rule {code}` shows an object in which it fires, and the same object repaired."
        return sentence, "\n".join((*_explain(rule, form.kinds[known.gvk], form, None), "", more))
    return "", ""


def _list(loaded: Catalog) -> Iterator[str]:
    """Every code, with its kinds and its place."""
    rules: dict[str, tuple[str, list[str]]] = {}
    for form in forms(loaded):
        for known in form.kinds.values():
            for rule in known.policy.rules:
                rules.setdefault(rule.code, (_where(rule, [known]), []))[1].append(known.gvk.kind)
    for code, (where, kinds) in sorted(rules.items()):
        yield f"{code}  {', '.join(dict.fromkeys(kinds))}: {where or 'the object'}"
    yield from (f"{code}  every kind with pods: Kubernetes' own rules" for code in KUBERNETES)
    yield from (f"{code}  a finding without a rule" for code in CODES)


def _explain(
    rule: DefaultRule | ValidationRule, known: KnownKind, loaded: Catalog, example: Example | None
) -> Iterator[str]:
    kinds = [each for each in loaded.kinds.values() if rule.code in each.policy.codes]
    names = " and ".join(each.gvk.kind for each in kinds)
    yield f"{rule.code}: {names} ({known.gvk.group}/{known.gvk.version}), {_where(rule, kinds)}"
    if operator := f"{known.in_force.operator} {rule.operator}" if rule.operator else known.policy.operator:
        yield f"True of {operator}."
    yield ""
    if isinstance(rule, DefaultRule):
        yield f"Sets {rule.path} where it is absent: {rule.because}."
    else:
        strict = ", a denial under the strict profile" if rule.strict else ""
        yield f"{'A denial' if rule.action is Action.DENY else 'A warning'}{strict}."
    if rule.docs:
        yield f"\n{fill(rule.docs, 100)}"
    if example is not None:
        yield from _shown(example, loaded, default=isinstance(rule, DefaultRule))
    yield ""
    if rule.when is not None:
        yield f"when   {_one_line(rule.when.source)}"
    if isinstance(rule, DefaultRule):
        yield f"value  {_one_line(rule.value.source)}"
    else:
        yield f"rule   {_one_line(rule.rule.source)}"


def _where(rule: DefaultRule | ValidationRule, kinds: Iterable[KnownKind]) -> str:
    """The place of a rule; of a rule with several places, all that the kinds have."""
    if isinstance(rule, DefaultRule):
        return str(rule.path)
    same = (each for known in kinds for each in known.policy.validations if each.code == rule.code)
    return ", ".join(dict.fromkeys(str(each.at) for each in same))


def _sources(rule: DefaultRule | ValidationRule, known: KnownKind, loaded: Catalog) -> Iterator[str]:
    """The generated function of each expression of a rule, and of the variables that they read."""
    if isinstance(rule, DefaultRule):
        parts = {"when": rule.when, "value": rule.value}
    else:
        parts = {"when": rule.when, "rule": rule.rule, "messageExpression": rule.message_expression}
    expressions = {name: part for name, part in parts.items() if isinstance(part, Expression)}
    read = {name for part in expressions.values() for name in part.variables}
    variables = {f"variables.{name}": part for name, part in known.policy.variables.items() if name in read}
    if isinstance(rule, ValidationRule):
        screen = loaded.prepared(known).prepare().rules
        alone = () if screen is None else (known.policy.validations[index].code for index in screen.others)
        whether = "has no form in" if rule.code in alone else "is part of"
        yield f"{rule.code} {whether} the function of all rules of the kind"
        yield ""
    for name, expression in (expressions | variables).items():
        yield f"{rule.code} {name}: {_one_line(expression.source)}"
        yield indent("\n".join(_source(expression)), "  ")
        yield ""
    if isinstance(rule, DefaultRule) and isinstance(rule.value, FactValue):
        yield f"{rule.code} value: {rule.value.source} (a fact, copied as it is)"


def _source(expression: Expression) -> Iterator[str]:
    generated = expression.program.generated()
    if generated is None:
        yield "no generated function: the interpreter evaluates this expression"
        return
    yield f"cost at most: {'depends on the values' if generated.bound is None else generated.bound}"
    yield from (f"k{index} = {_constant(value)}" for index, value in enumerate(generated.constants))
    yield generated.text.rstrip()


def _constant(value: object) -> str:
    """A function by its qualified name, anything else by its representation."""
    name = getattr(value, "__qualname__", None)
    return f"{value.__module__}.{name}" if name else repr(value)


_Repair = tuple[str, Case, KnownKind]
"""A code that a case has a repair for, with the case and its kind."""


def _example(
    rule: DefaultRule | ValidationRule, known: KnownKind, loaded: Catalog, repairs: Iterable[_Repair] | None = None
) -> Example | None:
    """The case of the API that has a repair for the rule: for its code, under a release that it is true of."""
    for code, case, kind in _repairs([known.api], loaded) if repairs is None else repairs:
        if code == rule.code and is_about(case, kind, rule, loaded):
            return run_example(code, case, kind, loaded)
    return None


def _repairs(apis: Iterable[str], loaded: Catalog) -> Iterator[_Repair]:
    """Each code that a case of these APIs has a repair for."""
    for document in read_cases([loaded.packs[api].folder for api in apis], loaded):
        target = document.target
        kind = loaded.find(GroupVersionKind(target.group, target.version, target.kind))
        assert kind is not None  # read_cases checks it
        for case in document.cases:
            yield from ((code, case, kind) for code in case.repairs)


def _shown(example: Example, loaded: Catalog, *, default: bool) -> Iterator[str]:
    """Both objects, what the first one gets, and what else must be in the cluster."""
    titles = ("applies", "does not apply") if default else ("bad", "good")
    before, after = needed_objects(example, loaded)
    yield f"\n{titles[0]}: {example.case.name}{_circumstances(example)}"
    yield _yaml(_own(example.bad))
    if example.bad.request.old_object is not None:
        yield f"  stored before:\n{_yaml(_without_stamp(example.bad.request.old_object))}"
    if before:
        yield f"  in the cluster:\n{_yaml(*before)}"
    yield from (f"  → {text}" for text in said(example.bad, example.code))
    yield f"\n{titles[1]}:"
    yield _yaml(_own(example.good))
    changed = [each for each in after if each not in before]
    if changed:
        yield f"  added or changed in the cluster:\n{_yaml(*changed)}"


def _circumstances(example: Example) -> str:
    """The profile and the settings of a case, where they are not the usual ones."""
    case = example.case
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


def _own(result: CaseResult) -> dict[str, Any]:
    """What the user of a case writes, without a name and a namespace that do not matter."""
    return _without_stamp(result.request.object or {})


def _without_stamp(obj: Mapping[str, Any]) -> dict[str, Any]:
    metadata = dict(obj.get("metadata") or {})
    annotations = {key: value for key, value in metadata.get("annotations", {}).items() if key != ANNOTATION}
    metadata = {**metadata, "annotations": annotations}
    usual = {"name": "case", "namespace": "default", "annotations": {}}
    metadata = {key: value for key, value in metadata.items() if value != usual.get(key)}
    rest = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    return {**({"metadata": metadata} if metadata else {}), **rest}


def _yaml(*objects: Mapping[str, Any]) -> str:
    texts = (yaml.dump(each, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=100) for each in objects)
    return indent("---\n".join(texts).rstrip(), "    ")


class _Plain(yaml.SafeDumper):
    """Without anchors: a value that stands twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the method of the base class
        return True


def _one_line(source: str) -> str:
    return " ".join(source.split())
