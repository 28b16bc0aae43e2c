"""The names of an environment: variables, types and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webhook.cel.cost.runtime import call_cost
from webhook.cel.overload import dispatcher
from webhook.cel.types import INT, Type, type_of
from webhook.cel.values.messages import ENUMS, MESSAGES, Message

if TYPE_CHECKING:
    from webhook.cel.cost.runtime import Cost
    from webhook.cel.overload import Overload
    from webhook.cel.syntax.ast import Call, Expr

TypeResolver = Callable[[str], Type | None]
ObjectMaker = Callable[[Type, dict[str, Any]], Any]  # from an object type and field values to the object


@dataclass(frozen=True, slots=True)
class Reference:
    """The meaning of a name in an expression.

    For an identifier (or a selection that is a qualified identifier) ``name`` is its full
    name and ``value`` the type it denotes, or the number of an enum; None for a variable. For a call ``name`` is the
    function, ``overloads`` are those that the arguments' types allow, and ``namespaced`` says
    that the apparent receiver is part of the function's name.
    """

    name: str
    value: Type | int | None = None
    overloads: tuple[Overload, ...] = ()
    namespaced: bool = False

    def arguments(self, call: Call) -> Sequence[Expr]:
        """The arguments of a call of the function, the receiver first."""
        return call.args if call.target is None or self.namespaced else (call.target, *call.args)


@dataclass(frozen=True, slots=True)
class Signature:
    """An overload with the names of its type parameters."""

    overload: Overload
    params: tuple[Type, ...]

    @classmethod
    def of(cls, overload: Overload) -> Signature:
        found: dict[Type, None] = {}
        for part in (*overload.args, overload.result):
            found.update(dict.fromkeys(_params(part)))
        return cls(overload, tuple(found))


@dataclass(frozen=True, slots=True)
class Function:
    """All signatures of one name, split by call style."""

    name: str
    free: tuple[Signature, ...]
    member: tuple[Signature, ...]

    @classmethod
    def of(cls, name: str, overloads: Sequence[Overload]) -> Function:
        free = tuple(Signature.of(overload) for overload in overloads if not overload.member)
        return cls(name, free, tuple(Signature.of(overload) for overload in overloads if overload.member))

    def dispatched(self) -> tuple[Callable[..., Any], Cost | None]:
        """The implementation of a call whose overload is unknown until run time, and its cost."""
        overloads = [signature.overload for signature in (*self.free, *self.member)]
        return dispatcher(overloads), call_cost(self.name)


@dataclass(frozen=True, slots=True)
class Declarations:
    """The names of an environment.

    ``variables`` and ``constants`` (type denotations) are looked up by qualified name within
    ``container``; ``types`` finds an object type by its name, for ``Object.spec{…}``.
    ``disabled`` overloads exist at run time but not for the checker. With ``keyword_fields`` a
    field named as a keyword may be written as it is (``self.namespace``).
    """

    variables: Mapping[str, Type]
    functions: Mapping[str, Function]
    constants: Mapping[str, Type] = field(default_factory=dict)
    types: TypeResolver | None = None
    container: str = ""
    disabled: frozenset[str] = frozenset()
    keyword_fields: bool = True

    def variable(self, name: str) -> tuple[Type, Reference] | None:
        """The type and meaning of an identifier that is not a variable of a macro."""
        for candidate in self._candidates(name):
            if (of := self.variables.get(candidate)) is not None:
                return of, Reference(candidate)
            if (denoted := self._denoted(candidate)) is not None:
                return type_of(denoted), Reference(candidate, denoted)
            if candidate in ENUMS:
                return INT, Reference(candidate, ENUMS[candidate])
        return None

    def type_named(self, name: str) -> tuple[Type, Reference] | None:
        """The type that a name denotes, even if a variable has the same name."""
        for candidate in self._candidates(name):
            if (denoted := self._denoted(candidate)) is not None:
                return denoted, Reference(candidate, denoted)
        return None

    def message(self, name: str) -> Message | None:
        """The message of protobuf that a name denotes."""
        return next((MESSAGES[each] for each in self._candidates(name) if each in MESSAGES), None)

    def _denoted(self, name: str) -> Type | None:
        found = self.constants.get(name) or (self.types(name) if self.types else None)
        return MESSAGES[name].type if found is None and name in MESSAGES else found

    def function(self, name: str) -> Function | None:
        for candidate in self._candidates(name):
            if (found := self.functions.get(candidate)) is not None:
                return found
        return None

    def _candidates(self, name: str) -> Iterator[str]:
        """The full names ``name`` may stand for, innermost container first."""
        if name.startswith("."):
            yield name[1:]
            return
        container = self.container
        while container:
            yield f"{container}.{name}"
            container = container.rpartition(".")[0]
        yield name


def fields_of(of: Type) -> Mapping[str, Type]:
    """The fields of an object type."""
    declared = of.fields
    if declared is None:
        return {}
    return declared() if callable(declared) else declared


def _params(of: Type) -> Iterator[Type]:
    if of.kind == "param":
        yield of
    for inner in of.params:
        yield from _params(inner)
