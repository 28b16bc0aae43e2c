"""One generated function for the defaults of a new object: of its schema, of its policy, and the patch that sets them.

Most objects that a gate is asked about are new, valid and small. Nothing was filled in before, so every leaf is the
user's, and what may be filled in is known when the kind is. The function reads each place once, and writes the
operations of the patch from texts that are made beforehand.

It answers nothing where it is not sure, such as for a scalar in place of an object; then
:mod:`webhook.engine.filling.defaulting` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from webhook.admission import Default, patch
from webhook.admission.stamp import ANNOTATION
from webhook.cel.codegen.code import Block, render
from webhook.cel.codegen.generate import defined
from webhook.cel.codegen.listing import file_name
from webhook.cel.codegen.runtime import GLOBALS
from webhook.cel.codegen.variables import Around
from webhook.policy import MISSING, DefaultRule, field_path
from webhook.schema.default import Fill, compile_default
from webhook.schema.node import MISSING as NO_DEFAULT
from webhook.schema.node import SchemaNode

if TYPE_CHECKING:
    from webhook.engine.catalog import KnownKind

__all__ = ["SCHEMA_DEFAULT", "STAMP", "Fresh", "Run", "fresh", "leaves", "operations"]

Keys = tuple[str, ...]

SCHEMA_DEFAULT: Final = "default of the CRD schema"
_SCALARS: Final = frozenset({str, int, float, bool})
_PLACES: Final = 60
"""Objects with defaults of their own, in one function. A deeper part of a schema is filled in by its closure."""

STAMP: Final = ("metadata", "annotations", ANNOTATION)
_STAMP_AT: Final = patch.pointer(*STAMP)
_ANNOTATIONS_AT: Final = patch.pointer(*STAMP[:-1])

_OPERATION: Final = itemgetter(0)

_FUNCTION: Final = """\
# o0: the object. o1, o2, ...: objects in it; n1, n2, ...: they with defaults. a0, a1, ...: what is added to them;
# s0, s1, ...: with what is added below. r: a value of the policy; A: it does not apply. rec: these values.
# t0, t1, ...: what it is computed from; b, i, E: as in webhook.cel.formula.
# k0, k1, ...: constants. To return nothing is to give no answer.
def run(o0):
{body}
  return F(n0, rec, s0)
"""


Added = tuple[bytes, tuple[Default, ...]]
"""The JSON of an operation, and the defaults that it sets."""


class Fresh(NamedTuple):
    """An ``object`` with its defaults, what the policy ``recorded``, and what was ``added`` in the patch's order."""

    object: dict[str, Any]
    recorded: dict[str, Any]
    added: Sequence[Added]


Run = Callable[[dict[str, Any]], Fresh | None]


def fresh(kind: KnownKind) -> Run | None:
    """The function for a kind; None if its defaults depend on more than the object."""
    policy, root = kind.policy, kind.schema.root
    formulas = policy.formulas
    plain = all(rule in formulas and formulas[rule].is_plain and not rule.overwrites for rule in policy.defaults)
    if kind.deviates or kind.foreign or policy.numeric_quantities or not plain or policy.repeated_defaults():
        return None
    rooted = all(rule.path.around[:1] == ("spec",) for rule in policy.defaults)
    if root.additional is not None or not rooted or not all(map(_is_settled, root.properties.items())):
        return None
    writer = _Writer(kind)
    try:
        return writer.run()
    except KeyError:  # a rule is about a place that the function does not look into
        return None


def operations(obj: dict[str, Any], found: Fresh, stamp: str) -> bytes | None:
    """The JSON Patch that sets the defaults and the stamp of an object; ``metadata`` is an object, its annotations are,
    too, or absent. None if it has too many operations.
    """
    annotations = obj["metadata"].get("annotations")
    added = list(map(_OPERATION, found.added))
    if annotations is None:
        stamped = orjson.dumps({"op": "add", "path": _ANNOTATIONS_AT, "value": {ANNOTATION: stamp}})
    elif annotations.get(ANNOTATION) != stamp:
        how = "replace" if ANNOTATION in annotations else "add"
        stamped = orjson.dumps({"op": how, "path": _STAMP_AT, "value": stamp})
    else:
        return b"[%b]" % b",".join(added)
    if len(added) >= patch.MOST_OPERATIONS:
        return None
    for key, before in obj.items():
        if key == "metadata":
            added.insert(0, stamped)
            break
        if before is not found.object[key]:
            added.append(stamped)
            break
    return b"[%b]" % b",".join(added)


def operation(keys: Keys, value: Any, how: str = "add") -> bytes:
    """The JSON of an operation that sets a member."""
    return orjson.dumps({"op": how, "path": patch.pointer(*keys), "value": value})


def _below(keys: Keys, before: Any, after: Any) -> list[Added]:
    """What the closure of a part of the schema has added below a place."""
    found = patch.steps(before, after, at=keys)
    return [(orjson.dumps(patch.operations([step])[0]), tuple(_defaults(step.keys, step.value))) for step in found]


def _defaults(keys: Keys, value: Any) -> Iterator[Default]:
    for leaf, item in leaves(keys, value):
        yield Default(field_path(leaf), item, SCHEMA_DEFAULT)


class _Writer:
    """Writes the function. ``_places`` are the objects that it looks into, by their keys."""

    def __init__(self, kind: KnownKind) -> None:
        self._kind = kind
        self._constants: list[Any] = []
        self._places: dict[Keys, int] = {}
        self._parts: dict[int, list[tuple[str, str]]] = {}  # of each place: members, and the locals of their changes
        self._count = 0  # of the locals of formulas
        self._defaults: dict[Keys, str] = {}  # the constants of what the schema adds
        self._wanted = {rule.path.keys[:end] for rule in kind.policy.defaults for end in range(len(rule.path.keys))}

    def run(self) -> Run:
        root = self._kind.schema.root
        first: Block = []  # the locals of what is absent
        block: Block = ["n0 = o0", "rec = {}", first, *self._place((), root)]
        for rule in self._kind.policy.defaults:
            block += self._applied(rule)
        for index in sorted(self._parts, reverse=True):  # a place comes after the one around it
            block += self._gathered(index)
        if nothing := [part for parts in self._parts.values() for _, part in parts]:
            first.append(f"{' = '.join(nothing)} = ()")
        if len(self._parts) > 1:
            first.append(f"{' = '.join(f'n{index} = a{index}' for index in range(1, len(self._parts)))} = None")
        lines: list[str] = []
        render(block, 2, lines)
        text = _FUNCTION.format(body="\n".join(lines))
        run: Run = defined(text, file_name(f"defaults of {self._kind.gvk.kind}"), self._constants, _GLOBALS)
        return run

    def _constant(self, value: Any) -> str:
        self._constants.append(value)
        return f"k{len(self._constants) - 1}"

    def _place(self, keys: Keys, node: SchemaNode) -> Block:
        """Fill in an object, which is the local o of its index."""
        index = self._places[keys] = len(self._places)
        self._parts[index] = []
        block: Block = [f"a{index} = []"]
        for name, child in node.properties.items():
            if child.default is not NO_DEFAULT:
                block += self._own(keys, name, child)
            if _is_static(child) and ((*keys, name) in self._wanted or len(self._places) < _PLACES):
                block += self._inner((*keys, name), index, child)
            elif (fill := compile_default(child)) is not None:
                block += self._closure((*keys, name), index, fill)
        return block

    def _own(self, keys: Keys, name: str, child: SchemaNode) -> Block:
        """Add the default of a member."""
        index = self._places[keys]
        if child.default.__class__ not in _SCALARS:
            return [f"if o{index}.get({name!r}) is None: return"]
        place, value = (*keys, name), child.default
        added = self._defaults[place] = self._constant((operation(place, value), tuple(_defaults(place, value))))
        set_ = [*self._copied(keys), f"n{index}[{name!r}] = {value!r}"]
        block: Block = [(f"if {name!r} not in o{index}:", [*set_, f"a{index}.append({added})"])]
        if child.nullable:
            return block
        change = self._constant(((operation(place, value, "replace"), tuple(_defaults(place, value))),))
        return [*block, (f"elif o{index}[{name!r}] is None:", [*set_, f"{self._part(index, name)} = {change}"])]

    def _part(self, index: int, name: str) -> str:
        """The local of what is changed at a member of a place."""
        parts = self._parts[index]
        local = next((local for known, local in parts if known == name), f"e{index}_{len(parts)}")
        if (name, local) not in parts:
            parts.append((name, local))
        return local

    def _inner(self, keys: Keys, parent: int, child: SchemaNode) -> Block:
        """Fill in a member that is an object."""
        index = len(self._places)
        self._parts[parent].append((keys[-1], f"s{index}"))
        return [
            f"o{index} = n{index} = o{parent}.get({keys[-1]!r})",
            (f"if o{index}.__class__ is dict:", self._place(keys, child)),
            f"elif o{index} is not None: return",
        ]

    def _closure(self, keys: Keys, parent: int, fill: Fill) -> Block:
        """Fill in a member by the closure of its schema."""
        local = f"d{len(self._constants)}"
        self._parts[parent].append((keys[-1], local))
        set_ = [
            *self._copied(keys[:-1]),
            f"n{parent}[{keys[-1]!r}] = w",
            f"{local} = below({keys!r}, v, w)",
        ]
        return [
            f"v = o{parent}.get({keys[-1]!r})",
            ("if v is not None:", [f"w = {self._constant(fill)}(v)", ("if w is not v:", set_)]),
        ]

    def _applied(self, rule: DefaultRule) -> Block:
        """Apply a default of the policy."""
        index, leaf, text = self._places[rule.path.around], rule.path.keys[-1], rule.path.text
        set_ = [
            "if r.__class__ not in SCALARS: return",
            *self._copied(rule.path.around),
            f"n{index}[{leaf!r}] = rec[{text!r}] = r",
        ]
        applies = f"n{index} is None or {leaf!r} not in n{index}"
        changes: Block = [f"if n{index} is None: return"]
        add = [*set_, f"a{index}.append({self._changed(rule, 'add')})"]
        if rule.over is MISSING:
            changes += add
        else:
            default = self._defaults[rule.path.keys]
            replaced = f"a{index} = [{self._changed(rule, 'add')} if each is {default} else each for each in a{index}]"
            change = f"{self._part(index, leaf)} = ({self._changed(rule, 'replace')},)"
            applies = f"{applies} or n{index}[{leaf!r}] == {self._constant(rule.over)}"
            changes += [
                (f"if {leaf!r} not in n{index}:", add),
                (f"elif r == o{index}.get({leaf!r}):", [f"rec[{text!r}] = r"]),
                ("else:", [*set_, (f"if {leaf!r} in o{index}:", [change]), ("else:", [replaced])]),
            ]
        value: Block = [
            "r = A",
            ("try:", self._value(rule)),
            ("except Exception:", ["return"]),
            ("if r is not A:", changes),
        ]
        return [(f"if {applies}:", value), f"elif n{index}[{leaf!r}] is None: return"]

    def _value(self, rule: DefaultRule) -> Block:
        """Set r to the value of a default, where it applies."""
        given = {(f"n{self._places[keys[:-1]]}", keys[-1]): f"n{index}" for keys, index in self._places.items() if keys}
        around = Around("n0", given, self._constants, self._count)
        lines, self._count = self._kind.policy.formulas[rule].inlined(around)
        return [*lines]

    def _changed(self, rule: DefaultRule, how: str) -> str:
        """What a rule changes, as an operation and a default."""
        start = self._constant(operation(rule.path.keys, None, how).removesuffix(b"null}"))
        explained = f"D({rule.path.text!r}, r, {rule.because!r}, {rule.code!r})"
        return f"({start} + dumps(r) + b'}}', ({explained},))"

    def _copied(self, keys: Keys) -> Block:
        """Copy a place, and those around it, unless that is done."""
        index = self._places[keys]
        if not keys:
            return ["if n0 is o0: n0 = o0.copy()"]
        copy = f"n{index} = n{self._places[keys[:-1]]}[{keys[-1]!r}] = o{index}.copy()"
        return [(f"if n{index} is o{index}:", [*self._copied(keys[:-1]), copy])]

    def _gathered(self, index: int) -> Block:
        """Put together what is added to a place and below it: the members that were there come first."""
        parts = self._parts[index]
        if not parts:
            found: Block = [f"s{index} = a{index}"]
        elif len(parts) == 1:
            part = parts[0][1]
            found = [f"s{index} = [*{part}, *a{index}] if {part} else a{index}"]
        else:
            joined = f"s{index} = [*[each for _, part in ordered(c, o{index}) for each in part], *a{index}]"
            found = [
                "c = []",
                *((f"if {part}:", [f"c.append(({name!r}, {part}))"]) for name, part in parts),
                ("if not c:", [f"s{index} = a{index}"]),
                ("elif len(c) == 1:", [f"s{index} = [*c[0][1], *a{index}]"]),
                ("else:", [joined if index else "return"]),
            ]
        return [(f"if a{index} is not None:", found)]


def _ordered(changes: list[tuple[str, Any]], obj: dict[str, Any]) -> list[tuple[str, Any]]:
    """The changes of members in the order of the object."""
    order = list(obj)
    return sorted(changes, key=lambda change: order.index(change[0]))


def _is_settled(member: tuple[str, SchemaNode]) -> bool:
    """Whether a member of the root has no default itself, and, if it is metadata, none below."""
    name, node = member
    return node.default is NO_DEFAULT and (name != "metadata" or compile_default(node) is None)


def leaves(keys: Keys, value: Any) -> list[tuple[Keys, Any]]:
    """The leaves of a value at a place, with their keys."""
    if value.__class__ is dict and value:
        return [leaf for key, item in value.items() for leaf in leaves((*keys, key), item)]
    return [(keys, value)]


def _is_static(node: SchemaNode) -> bool:
    """Whether defaults in an object of the schema are at known members only, and there are some."""
    return (
        node.type == "object" and not node.additional_known and node.items is None and compile_default(node) is not None
    )


_GLOBALS: Final[dict[str, Any]] = {
    **GLOBALS,
    "D": Default,
    "F": Fresh,
    "SCALARS": _SCALARS,
    "below": _below,
    "dumps": orjson.dumps,
    "ordered": _ordered,
}
