"""``python -m tests.fuzz.sources -n N``: hostile policies and definitions, no text of which gets into generated Python.

Names, keys, texts and messages that try to leave the place where they belong are in ValidatingAdmissionPolicies, in
MutatingAdmissionPolicies and in the schemas and rules of definitions. Every source that is generated is parsed: a word
of a user in it, an import, or a name between two underscores is a defect. The policies are evaluated, too: an
exception that is not theirs to raise is a defect.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import io
import json
import random
import sys
import tokenize
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tokenize import COMMENT
from typing import Any, Final
from unittest.mock import patch

import yaml

from tests.crds import crd
from webhook.admission.decision import GroupVersionKind, Request
from webhook.admission.errors import ModelgateError
from webhook.cel import Budget, CelError, CompileFailure
from webhook.cel.codegen import generate
from webhook.manifests.documents import parse
from webhook.schema import load_crd
from webhook.schema.fielderror import SchemaError
from webhook.vap import MemoryContext, NativePolicies

WORD: Final = "zq0canary"
"""In every hostile text, and in no word of the product."""

CALL: Final = f"__import__('os').system('{WORD}')"
TEXTS: Final = (
    *(WORD, f"'+{CALL}+'", f'"+{CALL}+"', f"\\'+{CALL}+\\'#", f"{WORD}\n  {CALL}\n  #", f"'''{CALL}'''", f"{WORD}\\"),
    *(f"{{{CALL}}}", f"{{0.__class__}}{WORD}", f"__class__{WORD}", f"__{WORD}__", f"{WORD}.b/c", f"a-{WORD}"),
    *(f"class {WORD}", f"\N{LATIN SMALL LIGATURE FI}{WORD}", f"\x00{WORD}", f"\u2028{WORD}", f"\r{WORD}", f"%s{WORD}"),
    *(f"k0 {WORD}", f"{WORD}\\u0027+{CALL}+\\u0027", f"\N{KELVIN SIGN}{WORD}", "x" * 4_000 + WORD, "'" * 40 + WORD),
)  # fmt: skip
PLAIN: Final = (WORD, "k0", "t0", "V", "exact", "self", "object", "None", "lambda", "class", "b", "r", f"_{WORD}")
MEANT: Final = (ModelgateError, CelError, CompileFailure, SchemaError)
KIND: Final = GroupVersionKind("fuzz.example", "v1", "Thing")
RULES: Final = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]


class Finding(Exception):
    """A source that has in it what it must not have."""


class _Blank(ast.NodeTransformer):
    """Empties the constants, in which a text of a user may stand: quoted, as Python itself prints it."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(None), node)


def checked(source: str) -> None:
    """Look at a generated source.

    Raises:
        Finding: a text of a user outside of a constant, or a way out, is in it.
    """
    tree = _Blank().visit(ast.parse(source))
    comments = [each.string for each in tokenize.generate_tokens(io.StringIO(source).readline) if each.type == COMMENT]
    if WORD in ast.dump(tree) or any(WORD in each for each in comments):
        raise Finding(f"a text of a user is in the source: {source[:400]}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Global | ast.ClassDef | ast.JoinedStr):
            raise Finding(f"{type(node).__name__}: {source[:400]}")
        for field in ("id", "attr", "name", "arg"):
            word = getattr(node, field, None)
            if isinstance(word, str) and word.startswith("__") and word != "__class__":
                raise Finding(f"{word}: {source[:400]}")


@contextmanager
def watched() -> Iterator[list[str]]:
    """Every source that is generated is checked; yields those that were."""
    seen: list[str] = []

    def look(source: str, *arguments: Any) -> Any:
        seen.append(source)
        checked(source)
        return builtins.compile(source, *arguments)

    with patch.object(generate, "compile", look, create=True):
        yield seen


def literal(dice: random.Random) -> str:
    return json.dumps(dice.choice(TEXTS))


def expression(dice: random.Random) -> str:
    """A condition with hostile texts in every sort of place."""
    text, other, name = literal(dice), literal(dice), dice.choice(PLAIN)
    return dice.choice(
        (
            f"object.spec.source != {text}",
            f"object.metadata.?annotations[?{text}].orValue('') == {other}",
            f"has(object.spec.{name}) || object.spec.?{name}.hasValue()",
            f"{{{text}: {other}}}.size() > 0",
            f"[{text}, {other}].exists({name}, {name} == {text})",
            f"object.spec.source.matches({text})",
            f"object.spec[{text}] == {other}",
            f"r'{WORD}' + b'{WORD}'.size().format([]) == ''" if dice.random() < 0.1 else f"r'{WORD}' != ''",
            f"'%s'.format([{text}]) != object.spec.source",
            f"variables.{name} == 1",
            f"object.spec.source.replace({text}, {other}).startsWith({text})",
            f"object.spec.items.all({name}, {name} != {text} && {name} in [{other}])",
        )
    )


def mutation(dice: random.Random) -> dict[str, Any]:
    """A JSON patch or a configuration with hostile paths, keys and values."""
    text, other, name = literal(dice), literal(dice), dice.choice(PLAIN)
    if dice.random() < 0.5:
        operation = dice.choice(("'add'", "'test'", text))
        made = f"JSONPatch{{op: {operation}, path: '/spec/' + {text}, value: {other}}}"
        listed = dice.choice((f"[{made}]", f"object.spec.items.map(i, {made})"))
        return {"patchType": "JSONPatch", "jsonPatch": {"expression": listed}}
    fields = (f"{name}: {text}", f"source: {text} + {other}", f"items: [{text}]", f"labels: {{{text}: {other}}}")
    made = f"Object{{spec: Object.spec{{{dice.choice(fields)}}}}}"
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": made}}


def policy(dice: random.Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy of either sort, and its binding."""
    mutating = dice.random() < 0.5
    sort = "MutatingAdmissionPolicy" if mutating else "ValidatingAdmissionPolicy"
    variables = [{"name": name, "expression": expression(dice)} for name in dice.sample(PLAIN, 3)]
    spec: dict[str, Any] = {"matchConstraints": {"resourceRules": RULES}, "variables": variables}
    if mutating:
        spec |= {"mutations": [mutation(dice) for _ in range(3)], "reinvocationPolicy": "IfNeeded"}
    else:
        spec["validations"] = [
            {"expression": expression(dice), "message": WORD, "messageExpression": literal(dice)} for _ in range(4)
        ]
        spec["auditAnnotations"] = [{"key": "k", "valueExpression": literal(dice)}]
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    bound = {"policyName": "p", **({} if mutating else {"validationActions": ["Deny"]})}
    return {**head, "kind": sort, "spec": spec}, {**head, "kind": f"{sort}Binding", "spec": bound}


def definition(dice: random.Random) -> dict[str, Any]:
    """A definition whose properties, defaults, values, patterns and rules are hostile."""
    properties: dict[str, Any] = {"source": {"type": "string"}, "items": {"type": "array", "items": {"type": "string"}}}
    for name in dice.sample(TEXTS, 6):
        text = dice.choice(TEXTS)
        properties[name] = dice.choice(
            (
                {"type": "string", "default": text},
                {"type": "string", "enum": [text, "a"]},
                {"type": "string", "pattern": f"^{WORD}"},
                {"type": "object", "properties": {text: {"type": "integer", "default": 1}}},
                {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
                {"type": "string", "x-kubernetes-validations": [{"rule": f"self != {literal(dice)}", "message": WORD}]},
            )
        )
    rules = [{"rule": expression(dice).replace("object.", "self."), "message": WORD} for _ in range(3)]
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}, "x-kubernetes-validations": rules}
    return crd("fuzz.example", "Thing", schema)


def thing(dice: random.Random) -> dict[str, Any]:
    spec = {"source": dice.choice(TEXTS), "items": dice.sample(TEXTS, 3)}
    spec |= {name: dice.choice(TEXTS) for name in dice.sample((*TEXTS, *PLAIN), 4)}
    metadata = {"name": "t", "namespace": "n", "annotations": {WORD: WORD}}
    return {"apiVersion": "fuzz.example/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def by_policy(dice: random.Random) -> None:
    """Compile a policy and ask it about an object, twice: what was generated is used the second time."""
    loaded = NativePolicies.load(parse(yaml.safe_dump_all(policy(dice), allow_unicode=True), "fuzz.yaml"))
    asked = Request(KIND, "things", "CREATE", thing(dice), uid="1", name="t", namespace="n")
    for _ in range(2):
        loaded.validate(asked, MemoryContext())
        loaded.mutate(asked, MemoryContext())


def by_definition(dice: random.Random) -> None:
    """Compile a definition, and check an object by it."""
    schema = load_crd(definition(dice)).versions["v1"].schema
    schema.check(schema.default(thing(dice)), None, Budget())


def attempt(job: Callable[[random.Random], None], dice: random.Random) -> str:
    """The defect that was found, if any. A policy, a definition or an object may be refused."""
    try:
        job(dice)
    except MEANT:
        return ""
    except Finding as found:
        return str(found)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a defect
        return f"{type(error).__name__}: {error}"
    return ""


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.sources", description=__doc__)
    parser.add_argument("-n", type=int, default=2000, help="how many policies and definitions")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    wrong = 0
    with watched() as seen:
        for number in range(options.n):
            job = by_definition if number % 3 == 0 else by_policy
            if found := attempt(job, random.Random(f"{options.seed}/{number}")):
                wrong += 1
                print(f"seed {options.seed}, number {number}: {found}")
    print(f"{options.n} policies and definitions, {len(seen)} sources generated, {wrong} defects")
    return 1 if wrong or not seen else 0


if __name__ == "__main__":
    sys.exit(main())
