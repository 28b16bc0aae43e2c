"""OpenAPI validation of a value against a node, with kube-openapi's verdicts and wording.

This walker finds every error. It runs only on values that :mod:`webhook.schema.fast.check` does not accept.
"""

from __future__ import annotations

from typing import Any

from webhook.golang.errors import GoError
from webhook.golang.json import deep_equal, marshal
from webhook.golang.regexp import matcher
from webhook.golang.strconv import quote
from webhook.schema.correlate import Correlated
from webhook.schema.fielderror import (
    ERRORS,
    FieldError,
    ValidationResult,
    Violation,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
    type_invalid,
)
from webhook.schema.formats import FORMATS
from webhook.schema.node import MISSING, NO_PARTS, CleanParts, SchemaNode
from webhook.schema.numbers import check_number, convertible, is_float_integer, kind_of


def validate(
    node: SchemaNode, value: Any, *, path: str = "", old: Any = MISSING, clean: CleanParts = NO_PARTS
) -> list[FieldError]:
    """All OpenAPI errors of ``value``; with ``old``, the errors of unchanged parts are omitted (ratcheting).

    ``path`` is the field of the value; "" for the root of an object. ``clean`` are parts that are known to be valid.
    """
    correlated = None if old is MISSING else Correlated(value, old, node)
    result = check(node, value, "", correlated, clean)
    return field_errors(result, path)


def check(
    node: SchemaNode, value: Any, path: str, correlated: Correlated | None = None, clean: CleanParts = NO_PARTS
) -> ValidationResult:
    """``SchemaValidator.Validate``: the result and its match count, which selects the best failure of anyOf.

    The errors of an unchanged value do not count, so it is not walked; nor is a clean one. Its match count is of no
    use: within anyOf there is no old value, and no part is known to be clean.
    """
    if (correlated is not None and correlated.unchanged) or (clean and (id(node), id(value)) in clean):
        return ValidationResult()
    return _check(node, value, path, correlated, clean)


def _check(
    node: SchemaNode, value: Any, path: str, correlated: Correlated | None, clean: CleanParts
) -> ValidationResult:
    result = ValidationResult()
    if value is None:
        result.merge(_null(node, path))
        _check_enum(node, value, path, result)
        return result
    kind = kind_of(value)
    if node.types or node.format:
        result.merge(_type(node, kind, value, path))
        result.match_count += 1
    result.merge(_junctors(node, value, path))
    result.match_count += 1
    if kind == "string":
        _check_string(node, value, path, result)
    elif kind in ("integer", "number"):
        check_number(node, value, path, result)
        result.match_count += 2
    elif kind == "array":
        _check_array(node, value, path, correlated, clean, result)
        result.match_count += 2
    result.match_count += 1
    _check_enum(node, value, path, result)
    if kind == "object":
        _check_object(node, value, path, correlated, clean, result)
        result.match_count += 1
    result.match_count += 1
    return result


def _null(node: SchemaNode, path: str) -> ValidationResult:
    if node.types and not node.nullable:
        return ValidationResult.of(_wrong_type(path, ",".join(node.types), "null"))
    return ValidationResult(match_count=1)


def _wrong_type(path: str, wanted: str, found: str) -> Violation:
    return Violation("type", path, f"{path} in body must be of type {wanted}: {quote(found)}", found)


def _type(node: SchemaNode, kind: str, value: Any, path: str) -> ValidationResult:
    types = node.types
    textual = kind in ("string", "array")
    fits = (
        kind in types
        or (kind == "number" and "integer" in types and is_float_integer(value))
        or (kind == "integer" and "number" in types)
    )
    if node.format:
        own = {"integer": "int64", "number": "float64"}.get(kind, "")
        if not textual and not fits and own != node.format:
            return ValidationResult.of(_wrong_type(path, node.format, own))
        if textual and "number" not in types and "integer" not in types:
            return ValidationResult(match_count=1)  # the format check finds the rest
    if not fits:
        return ValidationResult.of(_wrong_type(path, ",".join(types), kind))
    return ValidationResult(match_count=1)


def _check_string(node: SchemaNode, value: str, path: str, result: ValidationResult) -> None:
    result.match_count += 1
    violation = _string_violation(node, value, path)
    if violation is not None:
        result.add(violation)
    if node.format:
        accepts = FORMATS.get(node.format.replace("-", ""))
        if accepts is not None:
            result.match_count += 1
            if not accepts(value):
                result.add(_wrong_type(path, node.format, value))


def _string_violation(node: SchemaNode, value: str, path: str) -> Violation | None:
    if node.max_length is not None and len(value) > node.max_length:
        text = f"{path} in body should be at most {node.max_length} chars long"
        return Violation("too long", path, text, value, node.max_length)
    if node.min_length is not None and len(value) < node.min_length:
        return Violation("", path, f"{path} in body should be at least {node.min_length} chars long", value)
    if node.pattern:
        return _pattern_violation(node.pattern, value, path)
    return None


def _pattern_violation(pattern: str, value: str, path: str) -> Violation | None:
    try:
        if matcher(pattern)(value):
            return None
        text = pattern
    except GoError as error:
        text = f"{pattern}, but pattern is invalid: {error.message}"
    return Violation("", path, f"{path} in body should match '{text}'", value)


def _check_array(
    node: SchemaNode,
    value: list[Any],
    path: str,
    correlated: Correlated | None,
    clean: CleanParts,
    result: ValidationResult,
) -> None:
    if node.items is not None:
        for i, item in enumerate(value):
            child = None if correlated is None else correlated.index(i)
            result.merge(check(node.items, item, f"{path}[{i}]", child, clean))
            if len(result.errors) >= ERRORS:
                break
    _check_size(len(value), (node.min_items, node.max_items), "items", path, result)
    if node.unique_items and any(deep_equal(a, b) for i, a in enumerate(value) for b in value[:i]):
        result.add(Violation("", path, f"{path} in body shouldn't contain duplicates", None))


def _check_size(
    size: int, bounds: tuple[int | None, int | None], unit: str, path: str, result: ValidationResult
) -> None:
    low, high = bounds
    if low is not None and size < low:
        result.add(Violation("", path, f"{path} in body should have at least {low} {unit}", size))
    if high is not None and size > high:
        result.add(Violation("too many", path, f"{path} in body should have at most {high} {unit}", size, high))


def _check_enum(node: SchemaNode, value: Any, path: str, result: ValidationResult) -> None:
    # a string equals only strings, so the operator `in` is enough, and it is fast for a long enum
    is_text = isinstance(value, str)
    if node.enum and not (value in node.enum if is_text else any(convertible(value, one) for one in node.enum)):
        shown = " ".join(a if isinstance(a, str) else marshal(a) for a in node.enum)
        text = f"{path} in body should be one of [{shown}]"
        result.add(Violation("enum", path, text, value, node.enum))


def _check_object(
    node: SchemaNode,
    value: dict[str, Any],
    path: str,
    correlated: Correlated | None,
    clean: CleanParts,
    result: ValidationResult,
) -> None:
    _check_size(len(value), (node.min_properties, node.max_properties), "properties", path, result)
    _check_additional(node, value, path, correlated, clean, result)
    prefix = f"{path}." if path else ""
    for key, item in value.items():
        child = node.properties.get(key)
        if child is not None:
            result.merge(check(child, item, prefix + key, _correlated_field(correlated, path, key), clean))
    for key in node.required:
        if key not in value:
            result.add(Violation("required", f"{path}.{key}", f"{path}.{key} in body is required", None))


def _check_additional(
    node: SchemaNode,
    value: dict[str, Any],
    path: str,
    correlated: Correlated | None,
    clean: CleanParts,
    result: ValidationResult,
) -> None:
    if node.additional is None and node.additional_allowed:
        return
    for key, item in value.items():
        if key in node.properties:
            continue
        if node.additional is not None:
            result.merge(check(node.additional, item, f"{path}.{key}", _correlated_field(correlated, path, key), clean))
        else:
            result.add(Violation("", path, f"{path}.{key} in body is a forbidden property", key))
        if len(result.errors) >= ERRORS:
            break


def _correlated_field(correlated: Correlated | None, path: str, key: str) -> Correlated | None:
    if correlated is None or (not path and key in ("kind", "apiVersion")):
        return None
    return correlated.key(key)


def _junctors(node: SchemaNode, value: Any, path: str) -> ValidationResult:
    """anyOf, oneOf, allOf and not. They do not see the old value, so nothing inside them ratchets."""
    result = ValidationResult(match_count=1)
    if node.any_of:
        _check_any_of(node.any_of, value, path, result)
    if node.one_of:
        _check_one_of(node.one_of, value, path, result)
    if node.all_of:
        _check_all_of(node.all_of, value, path, result)
    if node.not_ is not None and not check(node.not_, value, path).errors:
        result.add(_plain(path, f"{quote(path)} must not validate the schema (not)"))
    return result


def junctor_errors(node: SchemaNode, value: Any) -> bool:
    """Whether anyOf, oneOf, allOf or not of this node refuses a value."""
    return bool(_junctors(node, value, "").errors)


def _plain(path: str, message: str) -> Violation:
    """An error without a field: in Go it is not a ``Validation``."""
    return Violation("plain", path, message, None)


def _check_any_of(branches: tuple[SchemaNode, ...], value: Any, path: str, result: ValidationResult) -> None:
    best: ValidationResult | None = None
    for branch in branches:
        branch_result = check(branch, value, path)
        if not branch_result.errors:
            result.merge(branch_result)
            return
        if best is None or branch_result.match_count > best.match_count:
            best = branch_result
    result.add(_plain(path, f"{quote(path)} must validate at least one schema (anyOf)"))
    if best is not None:
        result.merge(best)


def _check_one_of(branches: tuple[SchemaNode, ...], value: Any, path: str, result: ValidationResult) -> None:
    results = [check(branch, value, path) for branch in branches]
    valid = [branch_result for branch_result in results if not branch_result.errors]
    if len(valid) == 1:
        result.merge(valid[0])
        return
    found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
    result.add(_plain(path, f"{quote(path)} must validate one and only one schema (oneOf). {found}"))
    if not valid:
        result.merge(max(results, key=lambda branch_result: branch_result.match_count))


def _check_all_of(branches: tuple[SchemaNode, ...], value: Any, path: str, result: ValidationResult) -> None:
    failed = 0
    for branch in branches:
        branch_result = check(branch, value, path)
        failed += bool(branch_result.errors)
        result.merge(branch_result)
    if failed:
        suffix = ". None validated" if failed == len(branches) else ""
        result.add(_plain(path, f"{quote(path)} must validate all the schemas (allOf){suffix}"))


def field_errors(result: ValidationResult, path: str) -> list[FieldError]:
    """``kubeOpenAPIResultToFieldErrors``: violations as field errors below ``path``."""
    return [_field_error(violation, path) for violation in result.errors.values()]


def _field_error(violation: Violation, path: str) -> FieldError:
    name = violation.name.removeprefix(".") if violation.name != "." else ""
    field = (f"{path}.{name}" if path else name) if name else path or "<nil>"
    value = "" if violation.value is None else violation.value
    match violation.kind:
        case "required":
            return required(field)
        case "enum":
            return not_supported(field, violation.value, (_enum_text(v) for v in violation.limit))
        case "too long":
            return too_long(field, violation.limit)
        case "too many":
            return too_many(field, violation.value, violation.limit)
        case "type":
            return type_invalid(field, value, violation.message)
        case "plain":
            return FieldError("FieldValueInvalid", path or "<nil>", violation.message, place=field)
    return invalid(field, value, violation.message)


def _enum_text(value: Any) -> str:
    return value if isinstance(value, str) else marshal(value)
