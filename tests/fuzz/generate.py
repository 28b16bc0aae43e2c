"""Random structural schemas, and random values that fit them more or less."""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.oddities import ODDITIES

NAMES = ("a", "b", "c", "name", "k", "v", "x.y", "a-b", "a__b", "if", "1up", "items", "m")
TEXTS = ("", "a", "b", "ab", "abc", "é", "A", "1", "x y", "foo/bar", "10", "2024-01-02", "1h", "a.b", "😀")
INTEGERS = (0, 1, 2, 3, -1, 5, 65, 100, 2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63 - 1, 2**63)
FLOATS = (0.0, 1.0, 0.5, 1.5, -0.1, 2.0, 1e21, 1e-7, 3.3, 65.0, 9007199254740993.0)
PATTERNS = ("^a", "b$", r"^\d+$", r"^[a-z]{1,3}$", ".", r"\bx", "^$", "a|b")
FORMATS = (
    *("date", "date-time", "datetime", "duration", "byte", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac"),
    *("uuid", "isbn", "creditcard", "ssn", "hexcolor", "rgbcolor", "password", "bsonobjectid", "k8s-short-name"),
    *("k8s-long-name", "int32", "int64", "float", "double", "unknown"),
)
RULES = {
    "string": ("self.size() < 3", "self == oldSelf", "self.startsWith('a')", "self != 'b'", "self.matches('^[a-z]*$')"),
    "integer": ("self % 2 == 0", "self >= oldSelf", "self < 100", "self != 4 || true"),
    "number": ("self < 2.0", "self != 1.5", "self >= oldSelf"),
    "boolean": ("self", "!self", "self == oldSelf"),
    "array": ("self.size() < 2", "self == oldSelf", "size(self) > 0"),
    "object": ("has(self.a)", "!has(self.b)", "self == oldSelf", "size(self) < 2"),
}
_VALUES = ("enum", "required", "default", "x-kubernetes-validations", "x-kubernetes-list-map-keys")
META = {"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "x"}}

Raw = dict[str, Any]


class Generator:
    """Everything random of one case comes from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def root_schema(self) -> Raw:
        """The schema of a whole object, with what is interesting under ``spec``."""
        schema: Raw = {"type": "object", "properties": {"spec": self.schema(3, kind="object")}}
        if self.chance(0.1):
            schema["properties"]["metadata"] = {"type": "object"}
        if self.chance(0.1):
            schema["required"] = ["spec"]
        return schema

    def schema(self, depth: int, kind: str = "") -> Raw:
        kinds = ["string", "integer", "number", "boolean", "int-or-string", "any"]
        kind = kind or self.random.choice([*kinds, *(["array", "object", "object"] if depth else [])])
        if kind == "int-or-string":
            schema: Raw = {"x-kubernetes-int-or-string": True}
            if self.chance(0.5):
                schema["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        elif kind == "any":
            schema = {"x-kubernetes-preserve-unknown-fields": True}
        else:
            schema = {"type": kind} | getattr(self, f"_{kind}")(depth)
        if self.chance(0.15):
            schema["nullable"] = True
        if self.chance(0.15) and kind in RULES:
            schema["x-kubernetes-validations"] = [self._rule(kind)]
        if self.chance(0.08):
            schema |= self._junctors(schema, depth)
        if self.chance(0.15):
            schema["default"] = self.value(schema, right=0.97)
            if schema["default"] is None:
                del schema["default"]
        return schema

    def _rule(self, kind: str) -> Raw:
        rule: Raw = {"rule": self.random.choice(RULES[kind])}
        if self.chance(0.3):
            rule["message"] = self.random.choice(("a message", " padded "))
        if self.chance(0.15):
            rule["messageExpression"] = self.random.choice(("'text'", "''", "'a\\nb'", "string(size('ab'))"))
        if self.chance(0.15):
            rule["reason"] = self.random.choice(("FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"))
        return rule

    def _limits(self, low: str, high: str, share: float = 0.15) -> Raw:
        limits: Raw = {}
        if self.chance(share):
            limits[low] = self.random.randrange(3)
        if self.chance(share):
            limits[high] = self.random.randrange(4)
        return limits

    def _string(self, _: int) -> Raw:
        said = self._limits("minLength", "maxLength")
        if self.chance(0.12):
            said["pattern"] = self.random.choice(PATTERNS)
        if self.chance(0.15):
            said["format"] = self.random.choice(FORMATS)
        if self.chance(0.12):
            said["enum"] = self.random.sample(TEXTS, 3)
        return said

    def _integer(self, _: int) -> Raw:
        return self._numeric(INTEGERS[:7], ("int32", "int64", "float"))

    def _number(self, _: int) -> Raw:
        return self._numeric((*FLOATS[:6], 1, 2), ("float", "double", "int32"))

    def _numeric(self, numbers: tuple[float, ...], formats: tuple[str, ...]) -> Raw:
        said: Raw = {}
        for keyword in ("minimum", "maximum", "multipleOf"):
            if self.chance(0.12):
                said[keyword] = self.random.choice((*numbers, 0.5, 1.5))
        for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            if self.chance(0.1):
                said[keyword] = True
        if self.chance(0.15):
            said["format"] = self.random.choice(formats)
        if self.chance(0.1):
            said["enum"] = self.random.sample(numbers, 3)
        return said

    def _boolean(self, _: int) -> Raw:
        return {"enum": [True]} if self.chance(0.05) else {}

    def _array(self, depth: int) -> Raw:
        items = self.schema(depth - 1)
        said: Raw = {"items": items} | self._limits("minItems", "maxItems")
        if self.chance(0.5):
            return said
        if items.get("type") == "object" and items.get("properties") and self.chance(0.7):
            scalars = [k for k, v in items["properties"].items() if v.get("type") in ("string", "integer", "boolean")]
            keys = self.random.sample(scalars, min(len(scalars), self.random.choice((1, 1, 2))))
            if keys:
                items["required"] = sorted({*items.get("required", ()), *keys})
                items.pop("nullable", None)
                for key in keys:
                    items["properties"][key].pop("nullable", None)
                return said | {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys}
        if items.get("type") in ("string", "integer", "number", "boolean", "array") or items.get(
            "x-kubernetes-int-or-string"
        ):
            items.pop("nullable", None)
            if items.get("x-kubernetes-list-type", "atomic") == "atomic":
                said["x-kubernetes-list-type"] = "set"
        return said

    def _object(self, depth: int) -> Raw:
        said = self._limits("minProperties", "maxProperties", 0.07)
        if self.chance(0.2):
            return said | {"additionalProperties": self._entries(depth)}
        names = self.random.sample(NAMES, self.random.randrange(4))
        if names or self.chance(0.7):
            said["properties"] = {name: self.schema(depth - 1) for name in names}
        if names and self.chance(0.3):
            said["required"] = self.random.sample(names, self.random.randrange(1, len(names) + 1))
        if self.chance(0.12):
            said["x-kubernetes-preserve-unknown-fields"] = True
        if self.chance(0.06):
            said["x-kubernetes-embedded-resource"] = True
            said["x-kubernetes-preserve-unknown-fields"] = True
        if self.chance(0.08):
            said["x-kubernetes-map-type"] = self.random.choice(("atomic", "granular"))
        return said

    def _entries(self, depth: int) -> Any:
        if self.chance(0.1):
            return True
        entries = self.schema(depth - 1)
        return _without_defaults(entries)

    def _junctors(self, schema: Raw, depth: int) -> Raw:
        """Value validations of what the schema has: nothing else would be structural."""
        branches = [self._branch(schema, depth) for _ in range(self.random.choice((1, 2, 2)))]
        keyword = self.random.choice(("allOf", "anyOf", "oneOf", "not"))
        return {keyword: branches[0] if keyword == "not" else branches}

    def _branch(self, schema: Raw, depth: int) -> Raw:
        branch: Raw = {}
        kind = schema.get("type")
        if kind == "object" and schema.get("properties"):
            name = self.random.choice([*schema["properties"]])
            branch["required"] = [name]
            if depth and self.chance(0.5):
                branch["properties"] = {name: self._branch(schema["properties"][name], depth - 1)}
        elif kind == "string":
            branch |= self._string(0)
        elif kind in ("integer", "number"):
            branch |= self._numeric(INTEGERS[:6], ("int32",))
        elif kind == "array" and depth:
            branch |= {"items": self._branch(schema["items"], depth - 1)} | self._limits("minItems", "maxItems", 0.5)
        return branch

    def value(self, schema: Any, right: float = 0.9) -> Any:
        """A value of the schema's type with probability ``right`` at each node."""
        if not isinstance(schema, dict) or not self.chance(right):
            return self.anything(2)
        if schema.get("enum") and self.chance(0.8):
            return self.random.choice(schema["enum"])
        match schema.get("type"):
            case "string":
                return self.random.choice(TEXTS)
            case "integer":
                return self.random.choice(INTEGERS if self.chance(0.3) else INTEGERS[:6])
            case "number":
                return self.random.choice((*FLOATS, *INTEGERS[:6]))
            case "boolean":
                return self.chance(0.5)
            case "array":
                items = schema.get("items", {})
                return [self.value(items, right) for _ in range(self.random.choice((0, 1, 2, 2, 3)))]
            case "object":
                return self._fields(schema, right)
        return (
            self.random.choice((*TEXTS[:5], *INTEGERS[:4], 1.5))
            if "x-kubernetes-int-or-string" in schema
            else self.anything(2)
        )

    def _fields(self, schema: Raw, right: float) -> dict[str, Any]:
        value: dict[str, Any] = {}
        if schema.get("x-kubernetes-embedded-resource") and self.chance(0.8):
            value = {"apiVersion": "v1", "kind": "Pod", "metadata": self._metadata()}
        required = schema.get("required", ())
        for name, child in (schema.get("properties") or {}).items():
            if self.chance(0.95 if name in required else 0.6):
                value[name] = self.value(child, right)
        additional = schema.get("additionalProperties")
        if additional is not None:
            for name in self.random.sample(NAMES, self.random.randrange(3)):
                value[name] = self.value(additional, right)
        if self.chance(0.1):
            value["unknown"] = self.anything(1)
        return value

    def _metadata(self) -> Any:
        return self.random.choice(
            (
                {"name": "x"},
                {"name": "x", "labels": {"a": "b"}, "unknown": 1},
                {"name": "..", "labels": {"#": "#"}},
                {"labels": {"a": 1}},
                {"creationTimestamp": None, "generation": 1},
                {"ownerReferences": [{"name": "x", "kind": "K", "apiVersion": "v1", "uid": "u", "z": 1}]},
                {},
            )
        )

    def anything(self, depth: int) -> Any:
        scalars: tuple[Any, ...] = (None, True, *TEXTS[:4], *INTEGERS[:4], *FLOATS[:3])
        if depth and self.chance(0.3):
            return [self.anything(depth - 1) for _ in range(self.random.randrange(3))]
        if depth and self.chance(0.3):
            return {name: self.anything(depth - 1) for name in self.random.sample(NAMES, self.random.randrange(3))}
        return self.random.choice(scalars)

    def broken(self, schema: Any) -> Any:
        """The schema with a few things in it that the API server may refuse."""
        if isinstance(schema, list):
            return [self.broken(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        said = {k: v if k in _VALUES else self._broken_keyword(k, v) for k, v in schema.items() if self.chance(0.97)}
        if self.chance(0.12):
            said |= self.random.choice(ODDITIES)
        return said

    def _broken_keyword(self, key: str, value: Any) -> Any:
        if key == "properties" and isinstance(value, dict):
            return {name: self.broken(child) for name, child in value.items()}
        return self.broken(value)

    def object(self, schema: Raw) -> dict[str, Any]:
        spec = self.value(schema["properties"]["spec"], 0.96)
        obj = {**META, "spec": spec}
        if self.chance(0.05):
            obj["other"] = 1
        return obj

    def changed(self, value: Any, schema: Any) -> Any:
        """A value like another, with a few changes: an old object."""
        if self.chance(0.08):
            return self.value(schema if isinstance(schema, dict) else {}, 0.8)
        said = schema if isinstance(schema, dict) else {}
        if isinstance(value, dict):
            known, rest = said.get("properties") or {}, said.get("additionalProperties")
            return {k: self.changed(v, known.get(k, rest)) for k, v in value.items() if self.chance(0.97)}
        if isinstance(value, list):
            items = [self.changed(item, said.get("items")) for item in value if self.chance(0.95)]
            if self.chance(0.15):
                self.random.shuffle(items)
            return items
        return value

    def old(self, obj: dict[str, Any], schema: Raw) -> dict[str, Any]:
        return {**META, "spec": self.changed(obj.get("spec"), schema["properties"]["spec"])}


def _without_defaults(schema: Any) -> Any:
    """The API server allows defaults below additionalProperties nowhere that matters: leave them out."""
    if isinstance(schema, list):
        return [_without_defaults(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key != "default"}
    return {key: value if key in ("enum", "required") else _without_defaults(value) for key, value in kept.items()}
