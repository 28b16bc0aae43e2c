"""The stubs of rules: what the texts of a definition ask for, and what the definition itself refuses.

A sentence that the schema says by itself gives none. What the schema refuses is refused without a rule: such a stub
only words the refusal (``explains: schema``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from textwrap import shorten
from typing import Any, Final, NamedTuple

from webhook.kubernetes import Place, pod_places
from webhook.schema import load_crd

Node = Mapping[str, Any]

_END: Final = re.compile(r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<=[.;])\s+")
"""Between two sentences: a point within a number or a name ends none."""
_CHECKABLE: Final = re.compile(
    r"\b(must|(?<!of )required|at (?:most|least)|mutually exclusive|can ?not|can only|only if|only when|only one"
    r"|not allowed|ignored|deprecated|no effect|defaults? to|one of|maximum|minimum|immutable|unless"
    r"|need(?:s|ed)? to)\b",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
_LONGEST: Final = 200
_VALUES: Final = 10
"""Of an enum whose refusal is worded."""
_KUBERNETES: Final = frozenset({"status", "volumeClaimTemplate", "volumeClaimTemplates"})
"""Fields that users do not write, or whose texts are Kubernetes' own."""
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata"})
_BOUNDS: Final[Mapping[str, str]] = {
    "minimum": "self >= {}",
    "maximum": "self <= {}",
    "minLength": "self.size() >= {}",
    "maxLength": "self.size() <= {}",
    "minItems": "self.size() >= {}",
    "maxItems": "self.size() <= {}",
}


class Stub(NamedTuple):
    """A rule to be written: the path of its node, what is asked for, and its expression, if the definition has one."""

    path: str
    text: str
    rule: str = ""

    def lines(self, code: str) -> Iterator[str]:
        yield f"{self.path}: {self.text}"
        yield f"- code: {code}"
        yield f"  at: {self.path}"
        if self.rule:
            yield "  explains: schema"
        yield f"  rule: {json.dumps(self.rule, ensure_ascii=False)}" if self.rule else "  rule:"
        yield from ("  message:", "  docs:")


class _Field(NamedTuple):
    """A node, its path, the node above it, and the schema rules of the nodes above it, as one text."""

    node: Node
    path: tuple[str, ...]
    above: Node
    rules: str

    @property
    def place(self) -> str:
        return ".".join(self.path).replace(".[*]", "[*]")


def stubs(definition: Node, versions: Sequence[str]) -> list[Stub]:
    """The stubs of some versions, each once: of texts first. Kubernetes' own rules judge what is in pods."""
    served = load_crd(dict(definition)).versions
    schemas = [served[name].schema for name in versions]
    roots = [(_Field(schema.raw, (), {}, ""), pod_places(schema.root, {})) for schema in schemas]
    fields = [field for root, pods in roots for field in _fields(root, pods)]
    texts = [stub for field in fields for stub in _of_text(field)]
    return list(dict.fromkeys([*texts, *(stub for field in fields for stub in _of_schema(field))]))


def _fields(field: _Field, pods: Place | None) -> Iterator[_Field]:
    """The fields that users write, in the order of the definition."""
    node, path = field.node, field.path
    if (pods is not None and pods.kind) or (path and (path[-1] in _KUBERNETES or path[0] in _HEAD)):
        return
    if path:
        yield field
    rules = f"{field.rules} {' '.join(str(rule.get('rule')) for rule in _rules(node))}"
    for name, child in (node.get("properties") or {}).items():
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and isinstance(child, Mapping):
            below = None if pods is None else pods.children.get(name)
            yield from _fields(_Field(child, (*path, name), node, rules), below)
    if isinstance(node.get("items"), Mapping):
        yield from _fields(_Field(node["items"], (*path, "[*]"), node, rules), None if pods is None else pods.items)


def _rules(node: Node) -> Sequence[Node]:
    return [rule for rule in node.get("x-kubernetes-validations") or () if isinstance(rule, Mapping)]


def _of_text(field: _Field) -> Iterator[Stub]:
    for sentence in _END.split(" ".join(str(field.node.get("description", "")).split())):
        if _CHECKABLE.search(sentence) and not _is_said(sentence.lower(), field):
            text = "".join(character for character in sentence.strip() if character.isprintable())
            yield Stub(field.place, shorten(text, _LONGEST, placeholder=" …"))


def _is_said(sentence: str, field: _Field) -> bool:
    """Whether the schema says what a sentence asks for."""
    node, name = field.node, field.path[-1]
    own = f"{field.rules} {' '.join(str(rule.get('rule')) for rule in _rules(node))}"
    numbers = {float(node[keyword]) for keyword in _BOUNDS if isinstance(node.get(keyword), int | float)}
    asked = {float(text) for text in _NUMBER.findall(sentence)}
    return any(
        (
            "default" in node and re.search(r"\bdefaults? to\b", sentence),
            "enum" in node and re.search(r"\b(one of|must be|supported|allowed)\b", sentence),
            name in (field.above.get("required") or ())
            and re.search(r"\b(required|must be (set|specified))\b", sentence),
            bool(asked) and asked <= numbers and re.search(r"\b(most|least|maximum|minimum|between|must)\b", sentence),
            "oldSelf" in own and re.search(r"\b(immutable|change|changed|modified|updated)\b", sentence),
            re.search(rf"\b{re.escape(name)}\b", own)
            and re.search(r"\b(exclusive|together|one of|both|unless)\b", sentence),
            ("pattern" in node or "format" in node) and re.search(r"\b(match|valid|format|rfc|pattern)\b", sentence),
        )
    )


def _of_schema(field: _Field) -> Iterator[Stub]:
    """What the schema refuses at a node, to be worded."""
    node = field.node
    for written in _rules(node):
        rule = " ".join(str(written.get("rule")).split())
        yield Stub(field.place, f"the definition's rule: {written.get('message') or rule}"[:_LONGEST], rule)
    values = [value for value in node.get("enum") or () if isinstance(value, str | int)]
    if 1 < len(values) <= _VALUES:
        listed = json.dumps(values, ensure_ascii=False)
        yield Stub(field.place, f"the definition's values: {listed[1:-1]}", f"self in {listed}")
    bounds = {key: node[key] for key in _BOUNDS if isinstance(node.get(key), int) and node[key] is not True}
    if bounds:
        tests = " && ".join(_BOUNDS[key].format(value) for key, value in bounds.items())
        yield Stub(field.place, f"the definition's limits: {', '.join(f'{k} {v}' for k, v in bounds.items())}", tests)
