"""A compiled schema: decodes and validates the objects of one version of a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from webhook.cel import COMPATIBLE, Budget
from webhook.cel.batch import Screen
from webhook.cel.values import node_of
from webhook.golang.json import read_numbers
from webhook.schema.correlate import Correlated, validate_lists
from webhook.schema.default import compile_default, prune_defaults
from webhook.schema.fast.check import compile_clean
from webhook.schema.fast.parts import Parts
from webhook.schema.fast.scalars import Check
from webhook.schema.fielderror import DecodeError, FieldError, invalid
from webhook.schema.node import SchemaNode, build
from webhook.schema.objectmeta.embedded import coerce, has_embedded, validate_embedded
from webhook.schema.paths import Keys, keys_of
from webhook.schema.prune import drop_nulls, prune, suggest_field
from webhook.schema.quantities import compile_quantities
from webhook.schema.rules.compile import RuleNode, compile_rules, conditions_of
from webhook.schema.rules.run import RuleRun
from webhook.schema.validate import validate

_BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
RULES_NOT_RUN = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)

P = ParamSpec("P")
R = TypeVar("R")


def _decodable(method: Callable[P, R]) -> Callable[P, R]:
    """Raise DecodeError for an object that Go's decoder refuses. Python detects it while walking the object."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except RecursionError:
            raise DecodeError("the object is nested too deeply") from None
        except OverflowError as error:
            raise DecodeError(f"the object has a number that is out of range: {error}") from None

    return call


class Decoded(NamedTuple):
    """An object as the API server decodes it, and the paths of the dropped fields.

    ``is_clean``: :meth:`Structural.check` finds no error but those of rules. False may be wrong.
    """

    object: dict[str, Any]
    unknown: list[str]
    is_clean: bool


class Checked(NamedTuple):
    """The errors that an object is refused for, warnings about parts that an update does not change, and all errors of
    the OpenAPI schema, also those of what an update does not change.
    """

    errors: list[FieldError]
    warnings: list[str]
    of_schema: list[FieldError]


class Structural:
    """A compiled structural schema: immutable and thread-safe.

    No method changes its argument. A method that has nothing to change returns its argument, by identity.
    """

    def __init__(
        self,
        raw: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        *,
        version: tuple[int, int] = COMPATIBLE,
        name: str = "schema",
    ) -> None:
        """``raw`` is an ``openAPIV3Schema`` of the kind ``name``, or reads it; the formats of Kubernetes ``version``
        count.
        """
        self.name = name
        self.version = version
        self._given = raw

    @cached_property
    def root(self) -> SchemaNode:
        """The tree of the schema, built when it is first needed: a command needs one or two of all kinds."""
        given = self._given  # taken once: another thread may set it meanwhile
        root = prune_defaults(build(given() if callable(given) else given, version=self.version))
        self._given = root.raw  # equal parts are one object there
        return root

    def compile(self) -> None:
        """Build the tree now: what is wrong with the schema of a user must be said when it is loaded."""
        _ = self.root

    @property
    def raw(self) -> Mapping[str, Any]:
        """The schema as JSON."""
        return self.root.raw

    @cached_property
    def _fill(self) -> Callable[[Any], Any] | None:
        return compile_default(self.root)

    @cached_property
    def _embedded(self) -> bool:
        return has_embedded(self.root)

    @cached_property
    def is_clean(self) -> Check:
        """The fast check: True if decoding would not change an object and validation would find no error.

        False may be wrong. It raises RecursionError and OverflowError, as Python does while walking the object.
        """
        return compile_clean(self.root)

    @cached_property
    def _parts(self) -> Parts:
        return Parts(self.root)

    def default(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object with the schema's defaults filled in."""
        if self._fill is None:
            return obj
        filled: dict[str, Any] = self._fill(obj)
        return filled

    @cached_property
    def _convert(self) -> Callable[[Any], Any] | None:
        return compile_quantities(self.root)

    def with_quantities(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object with numbers as text where the schema has quantities, if they are not whole numbers."""
        if self._convert is None:
            return obj
        converted: dict[str, Any] = self._convert(obj)
        return converted

    def prune(self, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The object without unknown fields, and their paths."""
        return prune(self.root, obj, is_root=True)

    def suggest(self, obj: dict[str, Any], path: str) -> str:
        """The correct spelling of an unknown field of the object; "" if no known field is similar."""
        return suggest_field(self.root, obj, path)

    def drop_nulls(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object without null fields that are neither nullable nor defaulted."""
        dropped: dict[str, Any] = drop_nulls(self.root, obj)
        return dropped

    @_decodable
    def decode(self, obj: dict[str, Any], *, drop_invalid: bool = False) -> Decoded:
        """The object of a review, as the API server decodes it.

        The steps are: default, prune, drop nulls, coerce embedded metadata. ``drop_invalid``: drop invalid metadata,
        as of a stored object, instead of raising CoerceError.

        Raises:
            CoerceError: apiVersion, kind or metadata has the wrong type.
            DecodeError: Go's decoder refuses the object. The methods below raise it too.
        """
        if self.is_clean(obj):
            return Decoded(obj, [], True)
        filled = self.default(obj)
        if filled is not obj and self.is_clean(filled):
            return Decoded(filled, [], True)
        return Decoded(*self._decode(read_numbers(filled), drop_invalid=drop_invalid), False)

    @_decodable
    def decode_file(self, obj: dict[str, Any], *, drop_invalid: bool = False) -> Decoded:
        """The object of a file, as :meth:`decode`: its own metadata, too, which the API server did for a review."""
        obj = read_numbers(self.default(obj))
        unknown: list[str] = []
        if "metadata" in obj:
            meta, unknown = coerce(None, {"metadata": obj["metadata"]}, is_root=True, drop_invalid=drop_invalid)
            obj = {**obj, **meta}
        decoded, more = self._decode(obj, drop_invalid=drop_invalid)
        return Decoded(decoded, [*unknown, *more], False)

    def _decode(self, obj: dict[str, Any], *, drop_invalid: bool) -> tuple[dict[str, Any], list[str]]:
        """The steps after the defaults."""
        clean = self._parts.clean(obj)
        obj, unknown = prune(self.root, obj, is_root=True, clean=clean)
        obj = drop_nulls(self.root, obj, clean)
        if self._embedded:
            obj, paths = coerce(self.root, obj, drop_invalid=drop_invalid)
            unknown += paths
        return obj, unknown

    @cached_property
    def rules(self) -> RuleNode | None:
        """The compiled x-kubernetes-validations, None if the schema has none."""
        return compile_rules(self.root, version=self.version, name=self.name)

    @cached_property
    def rules_screen(self) -> Screen | None:
        """The function that tells which rules an object may not meet.

        None if there are none, or one that only a walk over the object can evaluate.
        """
        conditions = [] if self.rules is None else list(conditions_of(self.rules))
        known = [each for each in conditions if each is not None]
        if not known or len(known) < len(conditions):
            return None
        return Screen(known, {}, f"screen of {self.name}", node_of(self.raw, is_root=True))

    @_decodable
    def check(self, obj: dict[str, Any], old: dict[str, Any] | None = None, budget: Budget | None = None) -> Checked:
        """All errors: of values, of embedded resources, of list types; then of the rules, unless an error blocks them.

        With ``old`` (an update) the errors of unchanged parts are omitted. The errors of list types are omitted if
        the old object has any. The default ``budget`` is the API server's for one object.
        """
        errors, of_schema, is_clean = list[FieldError](), list[FieldError](), self.is_clean(obj)
        if is_clean and self.rules is None:
            return Checked(errors, [], of_schema)
        old = read_numbers(old)
        if not is_clean:
            obj = read_numbers(obj)
            errors, of_schema = self._errors(obj, old)
        if self.rules is None:
            return Checked(errors, [], of_schema)
        if any(error.type in _BLOCKING for error in errors):
            return Checked([*errors, invalid("<nil>", None, RULES_NOT_RUN)], [], of_schema)
        run = RuleRun(Budget() if budget is None else budget)
        run.validate(self.rules, obj, old, correlated=None if old is None else Correlated(obj, old, self.root))
        return Checked(errors + run.errors, run.warnings, of_schema)

    @_decodable
    def invalid_places(self, obj: dict[str, Any]) -> list[tuple[Keys, str]]:
        """Where an object has a value that the OpenAPI schema refuses, and the type of the error; rules do not count.

        A field that the schema does not have is not an error.
        """
        if self.is_clean(obj):
            return []
        return [(keys_of(self.root, error), error.type) for error in self._errors(read_numbers(obj), None)[1]]

    def _errors(self, obj: dict[str, Any], old: dict[str, Any] | None) -> tuple[list[FieldError], list[FieldError]]:
        """The errors of the OpenAPI schema that an object is refused for, and all of them."""
        clean = self._parts.clean(obj)
        values = validate(self.root, obj, clean=clean)
        embedded = validate_embedded(self.root, obj) if self._embedded else []
        lists = validate_lists(self.root, obj, clean=clean)
        of_schema = values + embedded + lists
        if old is None:
            return of_schema, of_schema
        if values:
            values = validate(self.root, obj, old=old)
        if lists and validate_lists(self.root, old):
            lists = []
        return values + embedded + lists, of_schema
