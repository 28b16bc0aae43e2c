"""Where expressions are compiled: a Kubernetes version, and the variables of one use.

An environment is immutable and cheap to extend. All environments of a version share its functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from webhook.cel.errors import CelError, CompileFailure, FoldingFailure, Issue, ResultFailure
from webhook.cel.library import registry as library
from webhook.cel.limits import DEEP_RECURSION
from webhook.cel.syntax import macros
from webhook.cel.syntax.reading import Dialect
from webhook.cel.types import DYN, Type, optional_of
from webhook.cel.typing import schematypes
from webhook.cel.typing.checker import Checked, check
from webhook.cel.typing.declarations import Declarations, Function, ObjectMaker, TypeResolver
from webhook.cel.typing.refusals import refused_parts
from webhook.cel.values.nodes import Node, node_of
from webhook.cel.versions import COMPATIBLE, LATEST, Version

if TYPE_CHECKING:
    from webhook.cel.cost.sizes import Bounds, SizeHint
    from webhook.cel.overload import Overload
    from webhook.cel.program import Program
    from webhook.cel.syntax.ast import Expr

_EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})

# the minor versions that extended the language itself (apiserver/pkg/cel/environment/base.go)
_OPTIONALS: Final = (1, 28)
_MIXED_NUMBERS: Final = (1, 28)
_LITERAL_CHECKS: Final = (1, 29)
_KEYWORD_FIELDS: Final = (1, 31)
_TWO_VARIABLES: Final = (1, 32)
_SORT_BY: Final = (1, 34)


@dataclass(frozen=True, slots=True)
class Environment:
    """What an expression may use.

    ``version`` is the Kubernetes minor that expressions must be compatible with; a ``stored``
    expression may use what any version has. ``variables`` are the declared names with their
    types; ``nodes`` has the schema of each variable that holds raw JSON. ``types`` finds the
    object types that may be named or made (``Object.spec{…}``), and ``make`` makes them.
    ``functions`` are added to those of the version. ``remake`` makes this environment once more: a program keeps it
    instead of the environment, which cannot be pickled.

        env = Environment().with_schema("self", schema)
        program = env.compile("self.replicas < 5", expect=BOOL)
    """

    version: Version = COMPATIBLE
    stored: bool = True
    variables: Mapping[str, Type] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    types: TypeResolver | None = None
    make: ObjectMaker | None = None
    functions: tuple[Overload, ...] = ()
    container: str = ""
    quoted_fields: bool = True
    remake: Callable[[], Environment] | None = field(default=None, compare=False, repr=False)
    _declared: Mapping[str, schematypes.Declared] = field(default_factory=dict, repr=False)

    def extend(
        self,
        variables: Mapping[str, Type] = _EMPTY,
        *,
        nodes: Mapping[str, Node] = _EMPTY,
        types: TypeResolver | None = None,
        make: ObjectMaker | None = None,
        functions: Iterable[Overload] = (),
    ) -> Environment:
        """The environment with more functions and variables; a variable may replace one of the same name."""
        merged = MappingProxyType({**self.variables, **variables})
        merged_nodes = MappingProxyType({**self.nodes, **nodes})
        return replace(
            self,
            variables=merged,
            nodes=merged_nodes,
            types=types or self.types,
            make=make or self.make,
            functions=(*self.functions, *functions),
            remake=None,
        )

    def with_schema(
        self,
        name: str,
        schema: Mapping[str, Any],
        *,
        is_root: bool = False,
        optional: bool = False,
        type_name: str = "",
        whole_floats: bool = False,
    ) -> Environment:
        """The environment with a variable that holds raw JSON under an OpenAPI schema.

        With ``optional`` its value is an optional. ``type_name`` names its type in messages. The
        default, ``selfType#`` for ``self``, cannot be written in an expression. With ``whole_floats``
        a float like ``5.0`` is an integer where the schema has one.
        """
        declared = schematypes.declare(schema, is_root=is_root, name=type_name or f"{name}Type#")
        of = DYN if declared is None else declared.type
        node = node_of(schema, is_root=is_root, whole_floats=whole_floats)
        extended = self.extend({name: optional_of(of) if optional else of}, nodes={name: node})
        if declared is None:
            return extended
        return replace(extended, _declared=MappingProxyType({**self._declared, name: declared}))

    def at_least(self, version: Version) -> bool:
        """Whether expressions may use what a version introduced."""
        return self.stored or self.version >= version

    def sizes(self, variable: str) -> schematypes.Declared | None:
        """The type and size bounds of a variable that has a schema."""
        return self._declared.get(variable)

    def compile(
        self, source: str, expect: Type | tuple[Type, ...] | None = None, *, name: str = "", on_demand: bool = False
    ) -> Program:
        """Compile an expression, which must evaluate to ``expect`` (or one of them) if given.

        ``name`` is what tracebacks and profilers call its generated function; the expression by default. ``on_demand``
        makes that function at the first call, for expressions that are rarely needed.

        Raises :class:`CompileFailure`: :class:`~webhook.cel.errors.ParseFailure` for invalid
        syntax, itself for wrong types, :class:`~webhook.cel.errors.ResultFailure` for another
        result type, :class:`~webhook.cel.errors.FoldingFailure` for a constant part that fails.
        """
        return self.program(self.check(source), expect, name=name, on_demand=on_demand)

    def program(
        self,
        checked: Checked,
        expect: Type | tuple[Type, ...] | None = None,
        *,
        name: str = "",
        on_demand: bool = False,
        keep_tree: bool = False,
    ) -> Program:
        """Compile what :meth:`check` accepted; raises as :meth:`compile`.

        With ``keep_tree`` the program has the tree until :meth:`~webhook.cel.program.Program.drop_tree`.
        """
        from webhook.cel.program import build  # noqa: PLC0415 - loads the backends, which checking does not need

        source = checked.source
        expected = () if expect is None else expect if isinstance(expect, tuple) else (expect,)
        if expected and checked.result not in expected:
            raise ResultFailure(source, expected)
        self._refuse_unknown_types(checked)
        try:
            return build(checked, self, name, on_demand=on_demand, keep_tree=keep_tree)
        except CelError as error:
            raise FoldingFailure(source, [Issue(error.message)]) from None

    def check(self, source: str) -> Checked:
        """The expression with the type of each part; raises as :meth:`compile`."""
        try:
            with DEEP_RECURSION:
                checked = check(self.parse(source), self.declarations(), source)
        except RecursionError:
            # 250 levels as cel-go counts them fit; macros within macros may expand to deeper trees
            raise CompileFailure(source, [Issue("expression is nested too deeply")]) from None
        if issues := [*refused_parts(checked, arguments=self.at_least(_LITERAL_CHECKS))]:
            raise CompileFailure(source, issues)
        return checked

    def parse(self, source: str) -> Expr:
        """The syntax tree of an expression.

        Raises:
            ParseFailure: it is not CEL.
        """
        read = _parse if len(source) > _SHORT else _remembered
        return read(source, self._dialect())

    def estimate(self, source: str, hint: SizeHint | None = None) -> Bounds:
        """The minimal and maximal cost of an expression; the variables' schemas, or a hint, bound the sizes.

        Raises as :meth:`check`.
        """
        from webhook.cel.cost.estimate import estimate  # noqa: PLC0415 - only checks of CRD documents need it
        from webhook.cel.cost.sizes import schema_hint  # noqa: PLC0415

        checked = self.check(source)
        with DEEP_RECURSION:
            return estimate(checked, hint or schema_hint(self._declared, self.variables))

    def declarations(self) -> Declarations:
        """The names of the environment, as the checker looks them up."""
        constants = library.constants(self.version, stored=self.stored)
        return Declarations(
            self.variables,
            self.all_functions(),
            {**constants, **schematypes.SCALARS} if self._has_objects() else constants,
            self.types,
            self.container,
            frozenset() if self.at_least(_MIXED_NUMBERS) else _mixed_number_overloads(),
            self.at_least(_KEYWORD_FIELDS),
        )

    def _refuse_unknown_types(self, checked: Checked) -> None:
        """Refuse names of schema types: the API server's checker accepts them, but its interpreter has no value."""
        for reference in checked.references.values():
            if reference.value is not None and reference.name in schematypes.SCALARS:
                message = f"reference to undefined type: {reference.name}"
                raise FoldingFailure(checked.source, [Issue(message)])

    def all_functions(self) -> Mapping[str, Function]:
        """The functions of the version and those that are added, by name."""
        return _functions(self.version, self.functions, stored=self.stored)

    def _has_objects(self) -> bool:
        return bool(self._declared) or any(of.kind == "object" for of in self.variables.values())

    def _dialect(self) -> Dialect:
        return _dialect(
            optionals=self.at_least(_OPTIONALS),
            two_variables=self.at_least(_TWO_VARIABLES),
            sort_by=self.at_least(_SORT_BY),
            quoted_fields=self.quoted_fields,
        )


@lru_cache(64)
def _functions(version: Version, added: tuple[Overload, ...], *, stored: bool) -> Mapping[str, Function]:
    shipped = library.overloads(version, stored=stored)
    if not added:
        return {name: Function.of(name, overloads) for name, overloads in shipped.items()}
    extended: dict[str, tuple[Overload, ...]] = {}
    for overload in added:
        name = overload.function
        extended[name] = (*extended.get(name, shipped.get(name, ())), overload)
    functions = {name: Function.of(name, overloads) for name, overloads in extended.items()}
    return {**_functions(version, (), stored=stored), **functions}


@cache
def _mixed_number_overloads() -> frozenset[str]:
    """The comparisons of numbers of different types, which expressions may use since 1.28."""
    numbers = ("int", "uint", "double")
    mixed = set()
    for operator in ("_<_", "_<=_", "_>_", "_>=_"):
        for overload in library.overloads(LATEST).get(operator, ()):
            first, second = (of.kind for of in overload.args)
            if first != second and first in numbers and second in numbers:
                mixed.add(overload.id)
    return frozenset(mixed)


def _parse(source: str, dialect: Dialect) -> Expr:
    from webhook.cel.syntax.parser import parse  # noqa: PLC0415 - compiled programs may come from a file

    return parse(source, dialect)


_remembered = lru_cache(maxsize=256)(_parse)
"""Trees are immutable, and rules repeat each other: of 824 expressions of the shipped policies, 546 differ."""
_SHORT: Final = 1_000
"""Characters of an expression whose tree is remembered, so that the memory of all is bounded."""


@cache
def _dialect(*, optionals: bool, two_variables: bool, sort_by: bool, quoted_fields: bool) -> Dialect:
    groups = [macros.STANDARD]
    if optionals:
        groups.append(macros.OPTIONAL)
    if two_variables:
        groups.append(macros.TWO_VARIABLE)
    if sort_by:
        groups.append(macros.LISTS)
    return Dialect(macros.macros(*groups), optional_syntax=optionals, quoted_fields=quoted_fields)
