"""Compile the templates of children: ``${…}`` in a leaf, and the keys ``$when``, ``$all``, ``$each`` and ``$over``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.cel.syntax import Call, Const, Expr, ListExpr, MapExpr, Select
from webhook.cel.types import BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT, Type
from webhook.policy.path import MISSING, Path
from webhook.policy.reads import FACTS, OBJECT, SELF, STORED, Reads, is_variable, path_of
from webhook.policy.template import All, Computed, Constant, Copied, Each, Entry, Fields, Items, Leaf, Node

if TYPE_CHECKING:
    from webhook.cel import Environment
    from webhook.policy.reads import Expression

At = tuple[str | int, ...]

WHEN, ALL, EACH, OVER = "$when", "$all", "$each", "$over"
_WORDS: Final = frozenset({WHEN, ALL, EACH, OVER})
_VARIABLES: Final = "variables"
_ROOTS: Final = {SELF: (SELF,), STORED: (STORED,)}
_DEEPEST: Final = 60
_SINGLE: Final = frozenset({BOOL, BYTES, DOUBLE, DURATION, INT, NULL, STRING, TIMESTAMP, UINT})
"""The types of values without entries or items."""
_MANY: Final = "must be an expression in ${…} whose value is a map or a list"


class Compile(NamedTuple):
    """What compiles expressions: see :mod:`webhook.policy.compile`.

    ``expression`` compiles one in an environment, ``item`` gives the environment of the items of a list at a path,
    ``problem`` notes what is wrong at a place, and ``trees`` are those of the variables.
    """

    expression: Callable[[Environment, str, Type | None, At], Expression | None]
    item: Callable[[tuple[str, ...], At], Environment | None]
    problem: Callable[[At, str], None]
    trees: Mapping[str, Expr]


class Templates:
    """Compiles nodes. What is wrong becomes a problem at its place, and a constant stands for it."""

    def __init__(self, tools: Compile) -> None:
        self._tools = tools
        self.facts: set[str] = set()
        self.computed: list[Expression] = []

    def node(self, value: Any, env: Environment, at: At) -> Node:
        """A node of a template, as it is written."""
        if len(at) > _DEEPEST:
            self._tools.problem(at, f"is nested more than {_DEEPEST} deep")
            return Constant(None)
        if isinstance(value, str):
            return self.leaf(value, env, at)
        if isinstance(value, Mapping):
            return self._fields(value, env, at)
        if isinstance(value, list):
            return _folded(Items(tuple(self._element(item, env, (*at, index)) for index, item in enumerate(value))))
        return Constant(value)

    def leaf(self, text: str, env: Environment, at: At, expect: Type | None = None, *, many: bool = False) -> Leaf:
        """A text: an expression, a constant, or both joined. With ``many``, a map or a list."""
        try:
            parts = [*_parts(text)]
        except ValueError as error:
            self._tools.problem(at, str(error))
            return Constant(text)
        if not any(is_expression for is_expression, _ in parts):
            return Constant("".join(part for _, part in parts))
        if len(parts) == 1:
            return self.expression(parts[0][1], env, at, expect, many=many)
        joined = (f"string({part})" if is_expression else _quoted(part) for is_expression, part in parts)
        return self.expression(" + ".join(joined), env, at, many=many)

    def expression(
        self, text: str, env: Environment, at: At, expect: Type | None = None, *, many: bool = False
    ) -> Leaf:
        """An expression of the type ``expect``; one that is a path alone is copied."""
        expression = self._tools.expression(env, text, expect, at)
        if expression is None:
            return Constant(None)
        if many and expression.program.result in _SINGLE:
            self._tools.problem(at, f"{_MANY}, not {expression.program.result}")
        self.facts |= expression.facts
        tree, trees = expression.program.tree(), self._tools.trees
        path, other = _copied(tree, trees)
        if path is not None:
            return Copied(path, other)
        reads = Reads.of([tree], trees, _ROOTS)
        expression.program.drop_tree()
        self.computed.append(expression)
        return Computed(expression, tuple(sorted(reads.values | reads.tests)))

    def _fields(self, value: Mapping[str, Any], env: Environment, at: At) -> Node:
        when = value.get(WHEN)
        test = None if when is None else self._condition(when, env, (*at, WHEN))
        entries = [*self._entries(value, env, at)]
        if unknown := sorted(key for key in value if key.startswith("$") and key not in _WORDS):
            self._tools.problem((*at, unknown[0]), f"unknown word {unknown[0]}: use one of {', '.join(sorted(_WORDS))}")
        return _folded(Fields(tuple(entries), test))

    def _entries(self, value: Mapping[str, Any], env: Environment, at: At) -> Iterator[Entry]:
        over = value.get(OVER)
        if EACH in value:
            self._tools.problem((*at, EACH), "is for the items of a list")
        if over is not None and ALL not in value:
            self._tools.problem((*at, OVER), f"says what {ALL} is merged over; add {ALL}")
        for key, item in value.items():
            if key == ALL:
                for each in item if isinstance(item, list) else (item,):
                    yield Entry("", self._all(each, env, (*at, ALL)), self._over(over, (*at, OVER)))
            elif not key.startswith("$"):
                yield Entry(key, self.node(item, env, (*at, key)))

    def _over(self, over: Any, at: At) -> tuple[str, ...]:
        if over is None:
            return ()
        try:
            return Path.parse(str(over)).keys
        except ValueError as error:
            self._tools.problem(at, str(error))
            return ()

    def _element(self, value: Any, env: Environment, at: At) -> Node | Each | All:
        if not isinstance(value, Mapping):
            return self.node(value, env, at)
        if ALL in value and value.keys() == {ALL}:
            return All(self._all(value[ALL], env, (*at, ALL)))
        if EACH not in value:
            return self.node(value, env, at)
        items = self.items(str(value[EACH]), env, (*at, EACH))
        within = None if items is None else self._tools.item(items.path, (*at, EACH))
        if items is None or within is None:
            return Constant(None)
        when = self._condition(value[WHEN], within, (*at, WHEN)) if WHEN in value else None
        rest = {key: item for key, item in value.items() if key not in (EACH, WHEN)}
        return Each(items, self.node(rest.get(ALL) if rest.keys() == {ALL} else rest, within, at), when)

    def items(self, text: str, env: Environment, at: At) -> Copied | None:
        """The list at a path: of the object, of a fact, or of a variable that is such a path."""
        try:
            keys = Path.parse(text).keys
        except ValueError as error:
            self._tools.problem(at, str(error))
            return None
        if keys[:1] == (_VARIABLES,):
            leaf = self.expression(text, env, at)
            if not isinstance(leaf, Copied):
                self._tools.problem(at, f"{text} is not a path; use a variable that is the path of a list")
                return None
            return leaf
        if keys[:1] == (FACTS,) and len(keys) > 1:
            self.facts.add(keys[1])
            return Copied(keys)
        return Copied((OBJECT, *keys))

    def _all(self, value: Any, env: Environment, at: At) -> Leaf:
        if isinstance(value, str) and value.startswith("${"):
            return self.leaf(value, env, at, many=True)
        self._tools.problem(at, _MANY)
        return Constant(None)

    def _condition(self, value: Any, env: Environment, at: At) -> Leaf:
        if isinstance(value, str) and value.startswith("${"):
            return self.leaf(value, env, at, BOOL)
        self._tools.problem(at, "must be an expression in ${…} that is true or false")
        return Constant(value=False)


def _folded(node: Fields | Items) -> Node:
    """The node, or a constant where nothing in it is open."""
    if isinstance(node, Items):
        if all(isinstance(each, Constant) for each in node.elements):
            return Constant([each.value for each in node.elements if isinstance(each, Constant)])
        return node
    if node.when is None and all(entry.name and isinstance(entry.node, Constant) for entry in node.entries):
        return Constant({entry.name: entry.node.value for entry in node.entries if isinstance(entry.node, Constant)})
    return node


def _copied(tree: Expr, variables: Mapping[str, Expr]) -> tuple[tuple[str, ...] | None, Any]:
    """The path that an expression only reads, and what stands for an absent value."""
    other: Any = MISSING
    while isinstance(tree, Select) and is_variable(tree):
        tree = variables[tree.field]
    if isinstance(tree, Call) and tree.function == "orValue" and tree.target is not None:
        literal = tree.args[0]
        if isinstance(literal, Const):
            other = literal.value
        elif isinstance(literal, ListExpr | MapExpr) and not [*literal.children]:
            other = [] if isinstance(literal, ListExpr) else {}
        else:
            return None, MISSING
    path = path_of(tree, variables, _ROOTS)
    is_plain = path is not None and path[0] in (OBJECT, SELF, FACTS) and len(path) > (path[0] == FACTS)
    return (path, other) if is_plain else (None, MISSING)


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    """The parts of a text, each with whether it is an expression.

    Raises:
        ValueError: an expression does not end.
    """
    position = 0
    while (start := text.find("${", position)) >= 0:
        if start and text[start - 1] == "$":
            yield False, text[position : start - 1] + "${"
            position = start + 2
            continue
        if start > position:
            yield False, text[position:start]
        end = _end(text, start + 2)
        yield True, text[start + 2 : end].strip()
        position = end + 1
    if position < len(text) or not text:
        yield False, text[position:]


def _end(text: str, start: int) -> int:
    """Where the brace is that closes an expression; braces in its texts do not count."""
    depth, quote, position = 0, "", start
    while position < len(text):
        sign = text[position]
        if quote:
            position += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "}" and not depth:
            return position
        else:
            depth += (sign == "{") - (sign == "}")
        position += 1
    raise ValueError("${ without the } that ends the expression; write $${ for the text ${")


def _quoted(text: str) -> str:
    """A text as CEL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def paths_of(nodes: Iterable[Node]) -> frozenset[tuple[str, ...]]:
    """The paths of the object whose values are copied into nodes as they are."""
    return frozenset(path for node in nodes for path in _copies(node))


def of_facts(node: Node | Each | All) -> Iterator[Copied]:
    """The leaves that copy a value of a fact, or of the item of a loop, except those of lists."""
    match node:
        case Copied() if node.path[0] != OBJECT:
            yield node
        case Fields():
            for entry in node.entries:
                yield from of_facts(entry.node)
        case Items():
            for element in node.elements:
                yield from of_facts(element)
        case All():
            yield from of_facts(node.items)


def _copies(node: Node | Each | All) -> Iterator[tuple[str, ...]]:
    match node:
        case Copied() if node.path[0] == OBJECT:
            yield node.path[1:]
        case Fields():
            for entry in node.entries:
                yield from _copies(entry.node)
                yield from [entry.over] if entry.over else []
        case Items():
            for element in node.elements:
                yield from _copies(element)
        case All():
            yield from _copies(node.items)
        case Each() if node.items.path[0] == OBJECT and any(_of_items(node.node)):
            yield (*node.items.path[1:], "*")  # what of an item is not copied is in no child


def _of_items(node: Node) -> Iterator[tuple[str, ...]]:
    match node:
        case Copied() if node.path[0] == SELF:
            yield node.path[1:]
        case Fields():
            for entry in node.entries:
                yield from _of_items(entry.node)
        case Items():
            for element in node.elements:
                if isinstance(element, Constant | Copied | Computed | Fields | Items):
                    yield from _of_items(element)
