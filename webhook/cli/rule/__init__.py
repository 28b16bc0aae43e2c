"""`modelgate rule`: explain one rule, with an object in which it fires and the same object repaired."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from textwrap import fill, indent
from typing import Final

from webhook import catalog
from webhook.catalog import Catalog, KnownKind, forms
from webhook.cli import GOOD, USAGE, choices
from webhook.cli.input.configuration import packs
from webhook.cli.output import say
from webhook.cli.report.codes import FIT, KUBERNETES, pod_code, retired, unknown
from webhook.cli.rule.shown import (
    RuleForm,
    Shown,
    all_rules,
    example_of,
    in_general,
    name_of,
    repairs,
    rules,
    shown_default,
    title_of,
    yaml_of,
)
from webhook.cli.shell.parser import Commands, command
from webhook.library.findings import CODES
from webhook.policy import Action, DefaultRule, Expression, FactValue, Path, Validation, ValidationRule, node_at


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
    loaded = catalog.load(packs=packs(options))
    if options.code is None:
        print("\n".join(_list(loaded)))
        return GOOD
    code = options.code.upper()
    if forms_of_code := list(rules(code, loaded)):
        print("\n\n".join("\n".join(_page(form, loaded, source=options.source)) for form in forms_of_code))
        return GOOD
    said = unknown(options.code, [*sorted(loaded.codes()), *KUBERNETES, *FIT, *CODES])
    letters = {each for pack in loaded.packs.values() for each in pack.codes}
    more = "" if code[:2] in letters else " (of a folder of your own: add --policies DIR)"
    say(f"modelgate rule: {said}{more}", sys.stderr)
    return USAGE


def _page(form: RuleForm, loaded: Catalog, *, source: bool) -> Iterator[str]:
    return _sources(*form) if source else _explain(form, example_of(form, loaded))


def explained(loaded: Catalog) -> Iterator[tuple[RuleForm, Shown | None]]:
    """Every rule, with its example."""
    known_repairs = list(repairs(sorted({known.api for known in loaded.kinds.values()}), loaded))
    for form in all_rules(loaded):
        yield form, example_of(form, loaded, known_repairs)


def without_rule() -> dict[str, list[str]]:
    """The lines that explain each code that has no rule here: Kubernetes', and those of rules that are gone."""
    return {code: pod_code(code) or [] for code in (*KUBERNETES, *FIT, *sorted(retired()))}


def page_of(code: str, known: KnownKind, loaded: Catalog) -> tuple[str, str]:
    """The title of the rule of a kind, and its page without the example; "" if the kind has no such rule."""
    for catalog_form in forms(loaded) if code in known.codes else ():
        known = catalog_form.kinds[known.gvk]
        for rule in (each for each in known.policy.rules if each.code == code):
            more = f"`modelgate rule {code}` shows an object in which it fires, and the same object repaired."
            return title_of(code, known), "\n".join((*_explain(RuleForm(rule, known, catalog_form), None), "", more))
    return "", ""


def _list(loaded: Catalog) -> Iterator[str]:
    """Every code, with its kinds and its places in the first one. No rule is compiled."""
    codes, of_others = dict[str, dict[str, list[str]]](), dict[str, dict[str, list[str]]]()
    for known in map(loaded.uncompiled, loaded.kinds):
        for rule in (rule for source in known.sources for rule in source.document.spec.rules):
            written = rule.places if isinstance(rule, Validation) else [rule.path]
            places = [*_places(rule, known)] if isinstance(rule, Validation) and len(written) > 1 else written
            kinds = (codes if places else of_others).setdefault(rule.code, {})
            kinds.setdefault(known.gvk.kind, []).extend(places or written)
    for code, kinds in sorted({**of_others, **codes}.items()):
        where = ", ".join(dict.fromkeys(str(Path.parse(place)) for place in next(iter(kinds.values()))))
        yield f"{code}  {', '.join(kinds)}: {where or 'the object'}"
    yield from (f"{code}  what the operator makes: Kubernetes' own rules" for code in KUBERNETES)
    yield from (f"{code}  every kind that serves a model: nodes, memory, storage, limits" for code in FIT)
    yield from (f"{code}  a finding without a rule" for code in CODES)


def _places(rule: Validation, known: KnownKind) -> Iterator[str]:
    """The places of a rule that a kind has: kinds share lists. Of another release, it may have none."""
    below = Path.parse(rule.fieldPath.removeprefix(".")).keys
    for place in rule.places:
        if node_at(known.schema.raw, (*Path.parse(place).keys, *below)) is not None:
            yield place


def _explain(form: RuleForm, example: Shown | None) -> Iterator[str]:
    rule, gvk = form.rule, form.known.gvk
    yield f"{rule.code}: {form.names} ({gvk.group}/{gvk.version}), {form.where or 'the object'}"
    if form.releases:
        yield f"Valid for {form.releases}."
    yield ""
    if isinstance(rule, DefaultRule):
        yield f"Sets {rule.path} where it is absent: {rule.because}."
    else:
        strict = ", a denial under the strict profile" if rule.strict else ""
        yield f"{'A denial' if rule.action is Action.DENY else 'A warning'}{strict}. {form.of_files}".rstrip()
    if rule.docs:
        yield f"\n{fill(rule.docs, 100)}"
    yield from (f"\n{fill(sentence, 100, break_on_hyphens=False)}" for sentence in form.settings)
    if example is not None:
        yield from _lines(example, _TITLES[isinstance(rule, DefaultRule)])
    yield ""
    if rule.when is not None:
        yield f"when   {_one_line(rule.when.source)}"
    if isinstance(rule, DefaultRule):
        yield f"value  {_one_line(rule.value.source)}"
    else:
        yield f"rule   {_one_line(rule.rule.source)}"


_TITLES: Final = (("bad", "good"), ("applies", "does not apply"))
"""Of the examples of a rule, and of a default."""


def _lines(example: Shown, titles: tuple[str, str]) -> Iterator[str]:
    """Both objects, what the first one gets, and what else must be in the cluster."""
    yield f"\n{titles[0]}: {example.title}"
    yield _yaml(example.bad)
    if example.stored is not None:
        yield f"  stored before:\n{_yaml(example.stored)}"
    if example.cluster:
        yield f"  in the cluster:\n{_yaml(*example.cluster)}"
    yield from (f"  → {text}" for text in example.said)
    yield f"\n{titles[1]}:"
    yield _yaml(example.good)
    if example.added:
        yield f"  added or changed in the cluster:\n{_yaml(*example.added)}"


def _yaml(*objects: dict[str, object]) -> str:
    return indent(yaml_of(*objects), "    ")


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


def _one_line(source: str) -> str:
    return " ".join(source.split())
