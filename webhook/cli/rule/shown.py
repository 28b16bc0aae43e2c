"""What a page shows of a rule: its title, its forms in the releases, and the case in which it fires, also repaired.

A title says what a rule finds in general words: its message without values, and without what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import takewhile
from typing import Any, Final, NamedTuple

import yaml

from webhook.admission import GroupVersionKind
from webhook.admission.stamp import ANNOTATION
from webhook.catalog import Catalog, KnownKind, forms, names_read
from webhook.cel.syntax import Call, Comprehension, Const, Expr, ListExpr, parse
from webhook.cli.cases import Case, is_about, written
from webhook.cli.dumping import Plain
from webhook.cli.rule.repairs import Example, needed_objects, run_example, said
from webhook.cli.test import tables
from webhook.facts.settings import DEFAULT_SETTINGS
from webhook.policy import Action, DefaultRule, Validation, ValidationRule
from webhook.policy.pack import Setting
from webhook.policy.ranges import Range


class RuleForm(NamedTuple):
    """A rule, in a catalog of a release that it is true of."""

    rule: DefaultRule | ValidationRule
    known: KnownKind
    loaded: Catalog

    @property
    def kinds(self) -> list[KnownKind]:
        """The kinds that have the rule."""
        code = self.rule.code
        return [
            self.loaded.kinds[gvk] for gvk in _having(code, self.loaded) if code in self.loaded.kinds[gvk].policy.codes
        ]

    @property
    def names(self) -> str:
        """The names of its kinds."""
        return " and ".join(each.gvk.kind for each in self.kinds)

    @property
    def where(self) -> str:
        """The place; of a rule with several places, all that its kinds have. "" for the whole object."""
        return place(self.rule, self.kinds)

    @property
    def releases(self) -> str:
        """The operator and its releases that the rule is true of, in words; "" if none are named."""
        if not self.rule.operator:
            return self.known.policy.operator
        known = self.known.pack.releases
        return f"{self.known.in_force.operator} {Range.parse(self.rule.operator).words(known)}"

    @property
    def settings(self) -> Iterator[str]:
        """What is said of each setting of the operator that it reads."""
        declared = self.known.pack.settings
        for name in sorted(frozenset().union(*names_read(self.known.policy, self.rule))) if declared else ():
            setting, flag = declared[name], f"--set {self.known.api}.{name}"
            places = "".join(f"{place}; " for place in (*setting.values, *setting.arguments, *setting.environment))
            default = shown_default(setting)
            yield f"Reads a setting of the operator ({flag}; {places}by default {default}): {setting.docs}"

    @property
    def of_files(self) -> str:
        """That a denial about another object is a warning, if only files are known; "" of any other rule."""
        rule = self.rule
        if isinstance(rule, DefaultRule) or rule.unseen is None or not (rule.strict or rule.action is Action.DENY):
            return ""
        return "Of files alone it is a warning where the other object is not among them: that may be in the cluster."


def place(rule: DefaultRule | ValidationRule, kinds: Iterable[KnownKind]) -> str:
    """The places of a rule in these kinds."""
    if isinstance(rule, DefaultRule):
        return str(rule.path)
    same = (each for known in kinds for each in known.policy.validations if each.code == rule.code)
    return ", ".join(dict.fromkeys(str(each.at) for each in same))


def all_rules(loaded: Catalog, code: str = "") -> Iterator[RuleForm]:
    """Every rule of every release, or those with a code: of those with one code and one range, the first.

    Of the rules of a code, only their kinds are compiled.
    """
    seen: set[tuple[str, str]] = set()
    kinds = _having(code, loaded) if code else [*loaded.kinds]
    for form in forms(loaded) if kinds else ():
        for known in map(form.kinds.__getitem__, kinds):
            for rule in known.policy.rules:
                if code in {"", rule.code} and (rule.code, rule.operator) not in seen:
                    seen.add((rule.code, rule.operator))
                    yield RuleForm(rule, known, form)


def rules(code: str, loaded: Catalog) -> Iterator[RuleForm]:
    """The rules with a code: several, if they are true of different releases."""
    shown_ranges = set[str | None]()
    for form in all_rules(loaded, code):
        yield form
        shown_ranges.add(form.rule.operator or None)
        if shown_ranges == set(_ranges(form)):
            return


def _having(code: str, loaded: Catalog) -> list[GroupVersionKind]:
    """The kinds that have a rule with a code, in any release."""
    return [gvk for gvk in loaded.kinds if code in loaded.uncompiled(gvk).codes]


def _ranges(form: RuleForm) -> Iterator[str | None]:
    """The ranges of all forms of a rule; None of one without."""
    for source in form.known.sources:
        yield from (rule.operator for rule in source.document.spec.rules if rule.code == form.rule.code)


Repair = tuple[str, Case, GroupVersionKind]
"""A code that a case has a repair for, with the case and its kind."""


def example_of(form: RuleForm, loaded: Catalog, known_repairs: Iterable[Repair] | None = None) -> Shown | None:
    """The case of the API that has a repair for the rule: for its code, under a release that it is true of."""
    rule, known, _ = form
    for code, case, gvk in repairs([known.api], loaded, rule.code) if known_repairs is None else known_repairs:
        if code == rule.code and is_about(case, loaded.uncompiled(gvk), rule, loaded):
            return shown(run_example(code, case, loaded.kinds[gvk], loaded), loaded)
    return None


def repairs(apis: Iterable[str], loaded: Catalog, code: str = "") -> Iterator[Repair]:
    """Each code that a case of these APIs has a repair for; with a ``code``, from the files alone that name it."""
    for _, table in tables([loaded.packs[api].folder for api in apis], loaded, naming=code):
        for case in table.cases:
            yield from ((repaired, case, table.target.gvk) for repaired in case.repairs)


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


def shown_default(setting: Setting) -> str:
    """What counts where a setting is not given, and in which releases it is something else."""
    default = "not known" if setting.default is None else shown_value(setting.default) or "none"
    return ", ".join((default, *(f"{shown_value(value)} in {text}" for text, value in setting.releases.items())))


def shown_value(value: Any) -> str:
    """The value of a setting as flags take it."""
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _flag(name: str, value: Any) -> str:
    """A setting as `modelgate check` takes it."""
    if name == "operators":
        return " ".join(f"--set {key}={shown_value(part)}" for key, part in value)
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
    texts = (yaml.dump(each, Dumper=Plain, sort_keys=False, allow_unicode=True, width=100) for each in objects)
    return "---\n".join(texts).rstrip()


_GAP: Final = "…"
"""Stands for a value."""
_GAPS: Final = re.compile(rf"(?:['\"]?{_GAP}['\"]?[\s,]*){{2,}}")
_REMEDY: Final = re.compile(
    r"(?:[;:,]|\s-)\s+(?:or\s|and\s)?(?:use|write|remove|set|add|give|name|choose|raise|lower|put|ask|make|take|install)\b.*"
)
_WORD: Final = re.compile("[a-z]{3}")


def title_of(code: str, known: KnownKind) -> str:
    """What the rules of a kind with a code find, in general words; else why the first one exists."""
    rules = [rule for source in known.sources for rule in source.document.spec.rules if rule.code == code]
    titles = (_title(rule) for rule in rules if isinstance(rule, Validation))
    return next(filter(None, titles), "") or next((_sentence(rule.docs) for rule in rules), "")


def _sentence(docs: str) -> str:
    """The first sentence; "" if it only refers to another code."""
    sentence = " ".join(docs.split()).partition(". ")[0].rstrip(".")
    return "" if sentence.startswith("As ") else sentence


def _title(rule: Validation) -> str:
    """The place of a rule and what it finds there, on one line; "" if it has no words that are the same each time."""
    general = in_general(rule.message or "", rule.messageExpression).partition("; ")[0]
    general = _REMEDY.sub("", general).strip(" ,:;")
    if not _WORD.search(general):
        return ""
    same = takewhile(lambda keys: len({*keys}) == 1, zip(*(place.split(".") for place in rule.places), strict=False))
    at = ".".join(key for key, *_ in same)
    return f"{at}: {general}" if at else f"{general[:1].upper()}{general[1:]}"


def in_general(message: str, expression: str | None) -> str:
    """What a message, or its expression, says of all values, on one line; "" if it has no words of its own."""
    text = message if expression is None else _text(parse(expression))
    general = _GAPS.sub(f"{_GAP} ", " ".join(text.split())).strip()
    return general if _WORD.search(general) else ""


def name_of(title: str) -> str:
    """The words of a title as one name, such as ``SpecModelModelIsDisabled``."""
    return "".join(f"{word[:1].upper()}{word[1:]}" for word in re.findall(r"[A-Za-z0-9]+", title))


def _text(node: Expr) -> str:
    """The words of a message expression; of two texts that a condition chooses from, the longer one."""
    if isinstance(node, Const) and isinstance(node.value, str):
        return node.value
    if isinstance(node, Call) and node.function == "_+_":
        return "".join(map(_text, node.args))
    if isinstance(node, Call) and node.function == "_?_:_":
        return max(map(_text, node.args[1:]), key=lambda text: (len(text.replace(_GAP, "")), text))
    if isinstance(node, Call) and node.function == "join" and isinstance(node.target, Comprehension):
        return _text(node.target.loop_step)  # one text for each item
    if isinstance(node, ListExpr):
        return "".join(map(_text, node.elements))
    return _GAP
