"""Portable rules as expressions that the API server can evaluate.

A rule is portable if it reads no fact and no stored node: its ``self`` is then replaced by the node's path in the
object, guarded by a presence test.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

from lark import Token

from webhook.admission import patch
from webhook.cel import shown_in_kubernetes
from webhook.cel.syntax import Ident, parse, position
from webhook.cel.syntax.parser import parser
from webhook.policy.path import MISSING
from webhook.policy.policy import DefaultRule, ValidationRule
from webhook.policy.reads import OBJECT, SELF, Expression, Reads

Keys = tuple[str, ...]

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


def is_portable(rule: ValidationRule | DefaultRule) -> bool:
    """Whether the API server can evaluate the rule."""
    if isinstance(rule, ValidationRule):
        return not (rule.facts or rule.transition)
    return not rule.facts and not rule.always and rule.path.single


def condition(rule: ValidationRule, reads: Reads | None) -> str:
    """The rule over the whole object: true if the node is absent, or the rule does not apply, or it holds.

    With what the rule ``reads``, also true for an update that does not change it (ratcheting).
    """
    return _over("object", rule.at.keys, rule, depth=0, reads=reads)


def _over(node: str, keys: Keys, rule: ValidationRule, depth: int, *, reads: Reads | None) -> str:
    """The condition on every node that the keys match below a node."""
    if "*" not in keys:
        place = _member(node, keys)
        test = f"({_with_self(rule.rule.source, place)})"
        if rule.when is not None:
            test = f"!({_with_self(rule.when.source, place)}) || {test}"
        if reads is not None:
            test = f"{test} || oldObject != null && {_unchanged(rule, reads, place)}"
        return _guarded(node, keys, test)
    star = keys.index("*")
    item = f"item{depth or ''}"
    inner = _over(item, keys[star + 1 :], rule, depth + 1, reads=reads)
    return _guarded(node, keys[:star], f"{_member(node, keys[:star])}.all({item}, {inner})")


def _unchanged(rule: ValidationRule, reads: Reads, place: str) -> str:
    """Whether the stored object equals this one in what the rule reads."""
    values = {path for path in reads.values if not _is_within(path[:-1], reads.values)}
    tested = {path for path in reads.tests if len(path) > 1 and not _is_within(path, values)}
    parts, tests = ([_optional(path) for path in sorted(paths) if path[0] == OBJECT] for paths in (values, tested))
    same = [f"object{part} == oldObject{part}" for part in parts]
    same += [f"object{part}.hasValue() == oldObject{part}.hasValue()" for part in tests]
    if any(path[0] == SELF for path in (*reads.values, *reads.tests)):
        same.append(_stored("oldObject", rule.at.keys, place, depth=0))
    return " && ".join(same) or "true"


def _is_within(path: Keys, paths: Collection[Keys]) -> bool:
    """Whether the path is one of the paths, or below one."""
    return any(path[:length] in paths for length in range(1, len(path) + 1))


def _optional(path: Keys) -> str:
    """The members below ``object``, of which each may be absent."""
    return "".join(f".?{key}" if _IDENTIFIER.match(key) else f"[?{literal(key)}]" for key in path[1:])


def _stored(node: str, keys: Keys, place: str, depth: int) -> str:
    """Whether the keys match a value equal to that of the place; a list item may be anywhere in the list."""
    star = keys.index("*") if "*" in keys else len(keys)
    test = f"{_member(node, keys)} == {place}"
    if star < len(keys):
        item = f"stored{depth or ''}"
        test = f"{_member(node, keys[:star])}.exists({item}, {_stored(item, keys[star + 1 :], place, depth + 1)})"
    return " && ".join([*(_present(node, keys[:count]) for count in range(1, star + 1)), test])


def _guarded(node: str, keys: Keys, test: str) -> str:
    absent = [_absent(node, keys[:count]) for count in range(1, len(keys) + 1)]
    return " || ".join([*absent, test])


def _member(node: str, keys: Keys) -> str:
    return node + "".join(f".{key}" if _IDENTIFIER.match(key) else f"[{literal(key)}]" for key in keys)


def _present(node: str, keys: Keys) -> str:
    """A presence test of the member, valid if its parents are present."""
    if _IDENTIFIER.match(keys[-1]):
        return f"has({_member(node, keys)})"
    return f"{literal(keys[-1])} in {_member(node, keys[:-1])}"


def _absent(node: str, keys: Keys) -> str:
    test = _present(node, keys)
    return f"!{test}" if test.startswith("has(") else f"!({test})"


def _with_self(source: str, place: str) -> str:
    """An expression with its ``self`` replaced."""
    found = {node.pos for node in parse(source).walk() if isinstance(node, Ident) and node.name == "self"}
    for start in sorted(found, reverse=True):
        source = source[:start] + place + source[start + len("self") :]
    return source


def message(rule: ValidationRule) -> tuple[str, str | None]:
    """The message of a rule with field and code, and its message expression if that is portable."""
    field = f"{rule.at}{rule.field_path}".removeprefix(".")
    if rule.message_expression is None:
        return f"{field}: {rule.message} ({rule.code})", None
    fixed = f"{field}: see `modelgate rule {rule.code}`"
    if not rule.at.single or rule.message_expression.facts:
        return fixed, None
    text = _with_self(rule.message_expression.source, _member("object", rule.at.keys))
    return fixed, f"{literal(f'{field}: ')} + ({text}) + {literal(f' ({rule.code})')}"


def defaulting(rule: DefaultRule) -> str:
    """An expression for a list of JSON patches that set the leaf (and create its parents) if it is absent."""
    keys = rule.path.keys
    parents = [keys[:count] for count in range(1, len(keys))]
    wanted = [_absent("object", part) for part in (*parents, keys)]
    if rule.overwrites and isinstance(rule.value, Expression):
        wanted.append(f"{_member('object', keys)} != ({rule.value.source})")
    if rule.over is not MISSING:
        wanted.append(f"{_member('object', keys)} == {literal(rule.over)}")
    patches = [f"({_present('object', parent)} ? [] : [{_added(parent, '{}')}])" for parent in parents]
    patches.append(f"[{_added(keys, f'({rule.value.source})')}]")
    when = f"({rule.when.source}) && " if rule.when is not None else ""
    return f"{when}({' || '.join(wanted)}) ? {' + '.join(patches)} : []"


def _added(keys: Keys, value: str) -> str:
    return f'JSONPatch{{op: "add", path: {literal(patch.pointer(*keys))}, value: {value}}}'


def literal(value: Any) -> str:
    """A JSON scalar as a CEL literal."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def in_kubernetes_cel(source: str) -> str:
    """The expression without ``shown``, which the API server does not have: each call is written out."""
    while (call := _last_shown(source)) is not None:
        source = source[: call[0]] + call[1] + source[call[2] :]
    return source


def _last_shown(source: str) -> tuple[int, str, int] | None:
    """The last call of ``shown``, so that no other one is within its argument: start, what replaces it, and end."""
    tokens = list(parser().lex(source)) if "shown" in source else []
    for index in reversed(range(len(tokens) - 1)):
        name, bracket = tokens[index : index + 2]
        if name == "shown" and bracket.type == "LPAR":
            inner = list(_enclosed(tokens[index + 2 :]))
            end = position(tokens[index + 2 + len(inner)])
            argument = source[position(bracket) + 1 : end].strip()
            is_member = all(token.type in ("IDENT", "DOT") for token in inner)
            return position(name), shown_in_kubernetes(argument, repeatable=is_member), end + 1
    return None


def _enclosed(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens before the parenthesis that closes an open one."""
    depth = 1
    for token in tokens:
        depth += {"LPAR": 1, "RPAR": -1}.get(token.type, 0)
        if depth == 0:
            return
        yield token
