"""A compiled schema: decodes and validates the objects of one version of a kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

from webhook.cel import COMPATIBLE, Budget, Group
from webhook.golang.json import read_numbers
from webhook.schema.correlate import Correlated
from webhook.schema.default import compile_default
from webhook.schema.defaults import prune_defaults
from webhook.schema.errors import DecodeError
from webhook.schema.fast.check import Check, compile_clean
from webhook.schema.fast.parts import Parts
from webhook.schema.fielderror import FieldError, invalid
from webhook.schema.listtype import validate_lists
from webhook.schema.node import SchemaNode, build
from webhook.schema.objectmeta.embedded import coerce, has_embedded, validate_embedded
from webhook.schema.prune import drop_nulls, prune
from webhook.schema.quantities import compile_quantities
from webhook.schema.rules.compile import RuleNode, compile_rules, groups_of_new
from webhook.schema.rules.run import RuleRun
from webhook.schema.suggest import suggest_field
from webhook.schema.validate import validate

__all__ = ["RULES_NOT_RUN", "Structural"]

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


class _Errors(NamedTuple):
    """The errors of the OpenAPI schema: of values, of embedded resources, and of list types."""

    values: list[FieldError]
    embedded: list[FieldError]
    lists: list[FieldError]

    def joined(self) -> list[FieldError]:
        return self.values + self.embedded + self.lists


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
        """The fast check: True if decoding would not change an object and validation would find no error."""
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

    def unknown(self, obj: dict[str, Any]) -> list[str]:
        """The paths of the unknown fields."""
        return prune(self.root, obj, is_root=True)[1]

    def suggest(self, obj: dict[str, Any], path: str) -> str:
        """The correct spelling of an unknown field of the object; "" if no known field is similar."""
        return suggest_field(self.root, obj, path)

    def drop_nulls(self, obj: dict[str, Any]) -> dict[str, Any]:
        """The object without null fields that are neither nullable nor defaulted."""
        dropped: dict[str, Any] = drop_nulls(self.root, obj)
        return dropped

    @_decodable
    def decode(
        self, obj: dict[str, Any], *, fresh: bool = False, stored: bool = False, incomplete: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """The object as the API server decodes it, and the paths of the dropped fields.

        The steps are: default, prune, drop nulls, coerce embedded metadata.

        Args:
            obj: the object.
            fresh: decode the object's own metadata too. For an object from a file: in an admission review the API
                server has already decoded it.
            stored: drop invalid metadata instead of raising CoerceError.
            incomplete: :meth:`is_decoded` is false of the object.

        Raises:
            CoerceError: apiVersion, kind or metadata has the wrong type.
            DecodeError: Go's decoder refuses the object. The methods below raise it too.
        """
        if not fresh:
            if not incomplete and self.is_clean(obj):
                return obj, []
            filled = self.default(obj)
            if filled is not obj and self.is_clean(filled):
                return filled, []
            obj = filled
        else:
            obj = self.default(obj)
        return self._decode(read_numbers(obj), fresh=fresh, stored=stored)

    def _decode(self, obj: dict[str, Any], *, fresh: bool, stored: bool) -> tuple[dict[str, Any], list[str]]:
        """The steps after the defaults."""
        unknown: list[str] = []
        if fresh and "metadata" in obj:
            meta, unknown = coerce(None, {"metadata": obj["metadata"]}, is_root=True, drop_invalid=stored)
            obj = {**obj, **meta}
        clean = self._parts.clean(obj)
        obj, paths = prune(self.root, obj, is_root=True, clean=clean)
        obj = drop_nulls(self.root, obj, clean)
        unknown += paths
        if self._embedded:
            obj, paths = coerce(self.root, obj, drop_invalid=stored)
            unknown += paths
        return obj, unknown

    @_decodable
    def validate(self, obj: dict[str, Any], old: dict[str, Any] | None = None) -> list[FieldError]:
        """All errors of the OpenAPI schema, embedded resources and list types.

        With ``old`` (an update) the errors of unchanged parts are omitted. The errors of list types are omitted if
        the old object has any. Rules (x-kubernetes-validations) are separate.
        """
        return [] if self.is_clean(obj) else self._validate(read_numbers(obj), read_numbers(old))

    def _validate(self, obj: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        return self._ratcheted(obj, old, self._all_errors(obj))

    def _all_errors(self, obj: dict[str, Any]) -> _Errors:
        embedded = validate_embedded(self.root, obj) if self._embedded else []
        clean = self._parts.clean(obj)
        return _Errors(validate(self.root, obj, clean=clean), embedded, validate_lists(self.root, obj, clean=clean))

    def _ratcheted(self, obj: dict[str, Any], old: dict[str, Any] | None, errors: _Errors) -> list[FieldError]:
        """Of all errors of an object, those that an update is refused for."""
        if old is None:
            return errors.joined()
        values = validate(self.root, obj, old=old) if errors.values else []
        lists = errors.lists and not validate_lists(self.root, old)
        return errors._replace(values=values, lists=errors.lists if lists else []).joined()

    @cached_property
    def rules(self) -> RuleNode | None:
        """The compiled x-kubernetes-validations, None if the schema has none."""
        return compile_rules(self.root, version=self.version, name=self.name)

    @cached_property
    def _groups(self) -> list[tuple[tuple[str, ...], Group | None]]:
        return [] if self.rules is None else groups_of_new(self.rules)

    @_decodable
    def validate_rules(
        self, obj: dict[str, Any], old: dict[str, Any] | None = None, budget: Budget | None = None
    ) -> tuple[list[FieldError], list[str]]:
        """The errors of the rules, and as warnings the errors of parts that an update did not change.

        Use it only for an object that has no error of :meth:`validate` that blocks rules; :meth:`check` does both. The
        default ``budget`` is the API server's for one object.
        """
        if self.rules is None:
            return [], []
        return self._run_rules(self.rules, self._as_go(obj), None if old is None else self._as_go(old), budget)

    def _as_go(self, obj: dict[str, Any]) -> dict[str, Any]:
        converted: dict[str, Any] = obj if self.is_clean(obj) else read_numbers(obj)
        return converted

    def _run_rules(
        self, rules: RuleNode, obj: dict[str, Any], old: dict[str, Any] | None, budget: Budget | None
    ) -> tuple[list[FieldError], list[str]]:
        run = RuleRun(Budget() if budget is None else budget)
        run.validate(rules, obj, old, correlated=None if old is None else Correlated(obj, old, self.root))
        return run.errors, run.warnings

    def is_decoded(self, obj: dict[str, Any]) -> bool:
        """Whether :meth:`decode` would return the object as it is, and :meth:`validate` finds no error.

        It is faster than both. False may be wrong: only they know.
        """
        try:
            return self.is_clean(obj)
        except (RecursionError, OverflowError):
            return False

    def rules_hold(self, obj: dict[str, Any], limit: int) -> bool:
        """Whether all rules hold for a new object of which :meth:`is_decoded` is true, within so many cost units."""
        left = limit
        for keys, group in self._groups:
            value: Any = obj
            for key in keys:
                value = value.get(key)
                if value is None:
                    break
            else:
                left -= group.bound if group is not None else limit
                if group is None or left < 0 or not group.hold({"self": value}):
                    break
        else:
            return True
        errors, warnings = self.validate_rules(obj, None, Budget(limit))
        return not errors and not warnings

    def check(
        self, obj: dict[str, Any], old: dict[str, Any] | None = None, budget: Budget | None = None
    ) -> tuple[list[FieldError], list[str]]:
        """All errors and warnings: :meth:`validate`, then the rules unless an error blocks them."""
        return self.check_change(obj, old, budget)[:2]

    @_decodable
    def check_change(
        self, obj: dict[str, Any], old: dict[str, Any] | None, budget: Budget | None = None
    ) -> tuple[list[FieldError], list[str], list[FieldError]]:
        """As :meth:`check`, and all errors of the OpenAPI schema, also those of what an update does not change."""
        rules, is_clean = self.rules, self.is_clean(obj)
        if rules is None and is_clean:
            return [], [], []
        obj = obj if is_clean else read_numbers(obj)
        old = None if old is None else self._as_go(old)
        found = _Errors([], [], []) if is_clean else self._all_errors(obj)
        errors = [] if is_clean else self._ratcheted(obj, old, found)
        if rules is None:
            return errors, [], found.joined()
        if any(error.type in _BLOCKING for error in errors):
            return [*errors, invalid("<nil>", None, RULES_NOT_RUN)], [], found.joined()
        rule_errors, warnings = self._run_rules(rules, obj, old, budget)
        return errors + rule_errors, warnings, found.joined()
