"""``python -m tests.fuzz.celcheck -n N``: random rules, right and broken, compiled by us and by the API server's code.

Every rule must be accepted by both with the same greatest cost, or refused by both with the
same text. Of errors of syntax the first must be the same: ANTLR guesses at what was meant
after it, and we hardly do.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from typing import Any

from tests.fuzz.expressions import SCHEMA, Expressions
from tests.fuzz.oracle import Oracle
from webhook.cel.environment import Environment
from webhook.cel.errors import CompileFailure, ResultFailure
from webhook.cel.types import BOOL

_BATCH = 100
_KINDS = ("bool", "bool", "int", "string", "list")
_TOKENS = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|'[^']*'|\W")
_PIECES = (
    *(
        "a",
        "b",
        "self",
        "self.s",
        "self.n",
        "1",
        "2u",
        "1.5",
        "'s'",
        "'('",
        "b'x'",
        "true",
        "null",
        "[]",
        "{}",
        "[1,'a']",
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ".?",
        ",",
        ":",
        "?",
        "-",
        "!",
        "+",
        "*",
        "==",
        "<",
        "&&",
        "||",
        "in",
        "if",
        "@",
    ),
    *("'", "size(", "has(", "self.l.map(x, ", "self.l.all(", "self.s.optMap(v, ", "duration(", "matches(", ".split("),
    *(".nope(", ".format(", "[?", "type(self)"),
)

_ENV = Environment((1, 37)).with_schema("self", SCHEMA).with_schema("oldSelf", SCHEMA, type_name="selfType#")


def rule(rng: random.Random, depth: int) -> str:
    """An expression, in half of the cases with some tokens left out, doubled or replaced."""
    source = Expressions(rng).write(rng.choice(_KINDS), rng.randrange(1, depth + 1))
    if rng.random() < 0.5:
        return source
    tokens = _TOKENS.findall(source)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(tokens) + 1)
        tokens[at : at + rng.randrange(3)] = rng.sample(_PIECES, rng.randrange(3))
    return "".join(tokens) or "1"


def ours(source: str) -> tuple[str, int | None]:
    """Our answer: error text, greatest cost."""
    try:
        _ENV.compile(source, expect=BOOL)
    except ResultFailure:
        return "cel expression must evaluate to a bool", None
    except CompileFailure as failure:
        return f"{failure.stage}: {failure}", None
    return "", _ENV.estimate(source).max


def theirs(found: dict[str, Any]) -> tuple[str, int | None]:
    error = re.sub(r"selfType\d+", "selfType#", found.get("error") or "").removeprefix("RuleInvalid: ")
    return error, None if error else found["maxCost"]


def comparable(answer: tuple[str, int | None]) -> tuple[str, int | None]:
    """Without the numbers of type variables; of what does not parse, the first error of syntax."""
    text, cost = answer
    text = re.sub(r"_var\d+", "_var", text)
    found = re.search(r"ERROR: .*Syntax error: .*", text)
    if found is None:
        return text, cost
    # the engine reports a brace after something other than a name at the end of the braces
    return ("a brace" if re.search(r"(input|at) '\{'", found[0]) else found[0]), cost


def main(argv: list[str] | None = None) -> int:
    """Run, print every disagreement and the counts; 1 on any."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.celcheck", description=main.__doc__)
    parser.add_argument("-n", type=int, default=10_000, help="rules")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--depth", type=int, default=4)
    options = parser.parse_args(argv)
    counts: Counter[str] = Counter()
    rng = random.Random(options.seed)
    with Oracle() as oracle:
        for _ in range(0, options.n, _BATCH):
            _compare([rule(rng, options.depth) for _ in range(_BATCH)], oracle, counts)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    return 1 if counts["differ"] else 0


def _compare(sources: list[str], oracle: Oracle, counts: Counter[str]) -> None:
    sources = [source for source in sources if source.strip()]
    rules = [{"rule": source} for source in sources]
    schema = {**SCHEMA, "x-kubernetes-validations": rules}
    request = {"mode": "compile", "schema": schema, "isRoot": False, "envType": "stored", "version": "1.37"}
    (answer,) = oracle.ask([request])
    if "results" not in answer:
        counts["batch not answered"] += 1  # the API server's own code panics at an optional element of type dyn
        return
    for source, found in zip(sources, answer["results"], strict=True):
        expected, got = comparable(theirs(found)), comparable(ours(source))
        if expected[0] == "a brace" and "Syntax error" in got[0]:
            counts["refused by both"] += 1
        elif expected != got:
            counts["differ"] += 1
            print(f"DIFFER {source}\n  theirs {expected}\n  ours   {got}")
        else:
            counts["refused by both" if got[0] else "accepted by both"] += 1


if __name__ == "__main__":
    sys.exit(main())
