"""The settings of operators that packs declare: their values, checked, and the fact by which rules read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from webhook.admission.errors import Problem, SettingsError
from webhook.catalog.packs import InForce, Pack, closest
from webhook.facts import Fact
from webhook.facts.settings import DEFAULT_SETTINGS, Settings, field_of, frozen
from webhook.policy import FACTS, DefaultRule, FactValue, Policy, ValidationRule

if TYPE_CHECKING:
    from webhook.cluster import ClusterView
    from webhook.policy.pack import Setting

FACT: Final = "operator"
"""What rules call the settings of their operator: ``facts.operator.<name>``."""
_MOST: Final = 256
"""Settings of which the values are kept: a tree has some pins."""


def check_settings(packs: Mapping[str, Pack], settings: Settings) -> Settings:
    """The settings with those of operators as the declarations of their packs read them.

    Raises:
        SettingsError: with every setting that is not declared, or has a value of another type.
    """
    problems, values = list[Problem](), dict[str, Any]()
    for key, value in settings.operators:
        api, _, name = key.partition(".")
        try:
            values[key] = frozen(_declared(packs, api, name).value(value))
        except ValueError as error:
            problems.append(Problem(f"--set {key}"[:200], "", str(error)))
    if problems:
        raise SettingsError(problems)
    return replace(settings, operators=tuple(values.items())) if values else settings


def _declared(packs: Mapping[str, Pack], api: str, name: str) -> Setting:
    """The declaration of a setting; ValueError names those that there are."""
    pack = packs.get(api)
    if pack is None or not pack.settings:
        apis = ", ".join(sorted(name for name, other in packs.items() if other.settings))
        raise ValueError(f'"{api[:60]}" is not an API with settings of its operator; use {apis}')
    declared = _setting(pack, name)
    if field := field_of(f"{api}.{name}"):
        raise ValueError(f"give it as the setting {field}")
    return declared


def _setting(pack: Pack, name: str) -> Setting:
    if name not in pack.settings:
        raise ValueError(f'{pack.operator} has no setting "{name[:60]}" here; {closest(name, pack.settings)}')
    return pack.settings[name]


def with_operator(settings: Settings, pack: Pack, values: Mapping[str, Any]) -> Settings:
    """The settings with what is known of an operator, by the names that its pack declares. What is given already
    counts more.

    Raises:
        ValueError: a value is of another type, or its setting is not declared.
    """
    given, api, changes = dict(settings.operators), pack.folder.name, dict[str, Any]()
    for name, value in values.items():
        key, typed = f"{api}.{name}", _setting(pack, name).value(frozen(value))
        field = field_of(key)
        if not field:
            given.setdefault(key, frozen(typed))
        elif getattr(settings, field) == getattr(DEFAULT_SETTINGS, field):
            changes[field] = typed
    return replace(settings, operators=tuple(sorted(given.items())), **changes)


def fact_of(pack: Pack, in_force: InForce) -> Mapping[str, Fact]:
    """The fact of a pack that declares settings, by its name, as a release of the operator has them."""
    if not pack.settings:
        return {}
    schema = {"type": "object", "properties": {name: declared.schema for name, declared in pack.settings.items()}}
    values = lru_cache(_MOST)(partial(_values, pack, in_force))
    return {FACT: Fact(partial(_value, values), schema, configurable=True, constant=True)}


def in_release(pack: Pack, in_force: InForce) -> Callable[[Settings], Settings]:
    """What completes settings by what the operator does in a release where nothing is given."""
    ranged = {field_of(f"{pack.folder.name}.{name}"): declared for name, declared in pack.settings.items()}
    unset = {field: declared.unset(in_force.holds) for field, declared in ranged.items() if field and declared.releases}
    return lru_cache(_MOST)(partial(_completed, unset)) if unset else as_given


def as_given(settings: Settings) -> Settings:
    """The settings as they are: no release of the operator has others."""
    return settings


def _completed(unset: Mapping[str, Any], settings: Settings) -> Settings:
    return replace(settings, **{field: value for field, value in unset.items() if getattr(settings, field) is None})


def names_read(policy: Policy, rule: DefaultRule | ValidationRule) -> tuple[frozenset[str], frozenset[str]]:
    """The settings of the operator that a rule or its message reads, and those that it asks ``has`` about."""
    reads = policy.reads_of((*rule.conditions, *rule.texts), rule.roots)
    named, asked = ({keys[2] for keys in paths if keys[:2] == (FACTS, FACT)} for paths in (reads.values, reads.tests))
    if isinstance(rule, DefaultRule) and isinstance(rule.value, FactValue) and rule.value.keys[0] == FACT:
        named.update(rule.value.keys[1:2])
    return frozenset(named), frozenset(asked)


def names_of_children(policy: Policy) -> frozenset[str]:
    """The settings of the operator that the descriptions of children read."""
    nodes = (node for child in policy.children for node in (child.when, child.object) if node is not None)
    return frozenset(str(path[2]) for node in nodes for path in node.reads() if path[:2] == (FACTS, FACT) and path[2:])


def _value(values: Any, _: dict[str, Any], __: ClusterView, settings: Settings) -> dict[str, Any]:
    by_name: dict[str, Any] = values(settings)
    return by_name


def _values(pack: Pack, in_force: InForce, settings: Settings) -> dict[str, Any]:
    """Each setting of an operator that is known: as it is given, if the release has it, or else as it is by default."""
    given, by_name = dict(settings.operators), dict[str, Any]()
    for name, declared in pack.settings.items():
        key = f"{pack.folder.name}.{name}"
        field = field_of(key)
        value = getattr(settings, field) if field else given.get(key)
        if declared.operator and not in_force.may_hold(declared.operator):
            value = None
        by_name[name] = declared.unset(in_force.holds) if value is None else declared.value(value)
    return {name: value for name, value in by_name.items() if value is not None}
