"""`modelgate rule`: explain one rule, with a bad and a good example taken from its cases."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from difflib import SequenceMatcher
from importlib.resources import files
from textwrap import fill, indent

import yaml

from webhook.admission.request import GroupVersionKind
from webhook.cli.cases import Case
from webhook.cli.cases import run as run_case
from webhook.cli.test import read_cases
from webhook.engine import catalog
from webhook.engine.catalog import Catalog, KnownKind
from webhook.policy import Action, DefaultRule, Expression, FactValue, ValidationRule

__all__ = ["add_parser", "run"]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser(
        "rule", help="explain one rule", description="Explain the rule with a code, such as LK205."
    )
    parser.add_argument("code", metavar="CODE", help="the code in brackets at the end of a message")
    parser.add_argument("--source", action="store_true", help="print the Python that its expressions compile to")


def run(options: argparse.Namespace) -> int:
    loaded, code = catalog.load(), options.code.upper()
    for known in loaded.kinds.values():
        rules: list[DefaultRule | ValidationRule] = [*known.policy.defaults, *known.policy.validations]
        for rule in rules:
            if rule.code == code:
                print("\n".join(_sources(rule, known) if options.source else _explain(rule, known, loaded)))
                return 0
    codes = sorted({code for known in loaded.kinds.values() for code in known.policy.codes})
    near = [found for found in codes if found[:3] == code[:3]] or codes
    print(f"no rule {code}; there are {', '.join(near)}")
    return 1


def _explain(rule: DefaultRule | ValidationRule, known: KnownKind, loaded: Catalog) -> Iterator[str]:
    gvk = known.gvk
    yield f"{rule.code}: {gvk.kind} ({gvk.group}/{gvk.version}), {_where(rule, known)}"
    yield ""
    if isinstance(rule, DefaultRule):
        yield f"Sets {rule.path} where it is absent: {rule.because}."
    else:
        strict = ", a denial under the strict profile" if rule.strict else ""
        yield f"{'A denial' if rule.action is Action.DENY else 'A warning'}{strict}."
    yield ""
    yield fill(rule.docs, 100)
    yield ""
    if rule.when is not None:
        yield f"when   {_one_line(rule.when.source)}"
    if isinstance(rule, DefaultRule):
        yield f"value  {_one_line(rule.value.source)}"
    else:
        yield f"rule   {_one_line(rule.rule.source)}"
        yield f"says   {rule.message if rule.message_expression is None else _one_line(rule.message_expression.source)}"
    yield from _examples(rule, known, loaded)


def _where(rule: DefaultRule | ValidationRule, known: KnownKind) -> str:
    """The place of a rule; of a rule with several places, all that the kind has."""
    if isinstance(rule, DefaultRule):
        return str(rule.path)
    return ", ".join(str(each.at) for each in known.policy.validations if each.code == rule.code)


def _sources(rule: DefaultRule | ValidationRule, known: KnownKind) -> Iterator[str]:
    """The generated function of each expression of a rule, and of the variables that they read."""
    if isinstance(rule, DefaultRule):
        parts = {"when": rule.when, "value": rule.value}
    else:
        parts = {"when": rule.when, "rule": rule.rule, "messageExpression": rule.message_expression}
    expressions = {name: part for name, part in parts.items() if isinstance(part, Expression)}
    read = {name for part in expressions.values() for name in part.variables}
    variables = {f"variables.{name}": part for name, part in known.policy.variables.items() if name in read}
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


def _examples(rule: DefaultRule | ValidationRule, known: KnownKind, loaded: Catalog) -> Iterator[str]:
    """A case in which the rule fires, and the most similar case in which no rule does."""
    titles = ("applies", "does not apply") if isinstance(rule, DefaultRule) else ("bad", "good")
    outcomes = [(case, rule.code in _codes(case, known, loaded)) for case in _cases(known, loaded)]
    firing = [case for case, fires in outcomes if fires]
    if not firing:
        return
    bad = min(firing, key=lambda case: len(_text(case)))
    quiet = [case for case, fires in outcomes if not fires and not case.expect.deny and not case.expect.warn]
    good = max(quiet, key=lambda case: _likeness(_text(bad), _text(case)), default=None)
    for title, case in zip(titles, (bad, good), strict=True):
        if case is not None:
            yield f"\n{title}: {case.name}\n{indent(_text(case), '  ').rstrip()}"


def _cases(known: KnownKind, loaded: Catalog) -> Iterator[Case]:
    for document in read_cases([files("policies").joinpath(known.api)], loaded):
        target = document.target
        if GroupVersionKind(target.group, target.version, target.kind) == known.gvk:
            yield from (case for case in document.cases if case.object is None and case.profile == "standard")


def _codes(case: Case, known: KnownKind, loaded: Catalog) -> set[str]:
    result = run_case(case, known, loaded)
    found = {cause.code for cause in result.validation.causes} | {found.code for found in result.validation.warnings}
    return found | {item.code for item in result.mutation.defaults if not item.removed}


def _text(case: Case) -> str:
    return str(yaml.safe_dump({"spec": case.spec}, sort_keys=False, allow_unicode=True))


def _likeness(bad: str, good: str) -> float:
    return SequenceMatcher(None, bad, good, autojunk=False).ratio()


def _one_line(source: str) -> str:
    return " ".join(source.split())
