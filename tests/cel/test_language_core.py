"""The core of the language against cel-python's interpreter, which shares nothing with ours but the grammar."""

import random

import celpy
import pytest
from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws import examples
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError
from webhook.cel.types import INT, STRING, list_of

DATA = {"i": 3, "j": -2, "s": "abc", "t": "", "li": [1, 2, 3], "ls": ["a", "abc"]}
ENV = Environment().extend({"i": INT, "j": INT, "s": STRING, "t": STRING, "li": list_of(INT), "ls": list_of(STRING)})


@pytest.fixture(scope="module")
def celpy_environment():
    ENV.compile("true")  # both implementations set the recursion limit, which hypothesis watches during a test
    celpy.CELParser.CEL_PARSER = None  # a singleton, which the first environment fixes
    return celpy.Environment(runner_class=celpy.InterpretedRunner)


class Core:
    """Expressions of what both implementations are right about."""

    def __init__(self, rng):
        self.rng = rng
        self.ints = ["i", "j", "0", "1", "7"]
        self.strings = ["s", "t", "'abc'", "'b'"]

    def bool(self, depth):
        rng, down = self.rng, depth - 1
        if depth <= 0:
            return rng.choice(["true", "false"])
        match rng.randrange(8):
            case 0:
                return f"({self.bool(down)} && {self.bool(down)})"
            case 1:
                return f"({self.bool(down)} || {self.bool(down)})"
            case 2:
                return f"!({self.bool(down)})"
            case 3:
                return f"({self.int(down)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {self.int(down)})"
            case 4:
                return f"({self.string(down)} {rng.choice(['<', '==', '!='])} {self.string(down)})"
            case 5:
                return f"{self.string(down)}.{rng.choice(['startsWith', 'endsWith'])}({self.string(down)})"
            case 6:
                return f"({self.int(down)} in {self.list(down)})"
            case _:
                return self.macro(rng.choice(["all", "exists", "exists_one"]), down)

    def int(self, depth):
        rng, down = self.rng, depth - 1
        if depth <= 0:
            return rng.choice(self.ints)
        match rng.randrange(4):
            case 0:
                return f"({self.int(down)} {rng.choice('+-*/%')} {self.int(down)})"
            case 1:
                return f"size({rng.choice([self.string, self.list])(down)})"
            case 2:
                return f"({self.bool(down)} ? {self.int(down)} : {self.int(down)})"
            case _:
                return rng.choice(self.ints)

    def string(self, depth):
        rng, down = self.rng, depth - 1
        if depth <= 0:
            return rng.choice(self.strings)
        if rng.random() < 0.5:
            return f"({self.string(down)} + {self.string(down)})"
        return f"({self.bool(down)} ? {self.string(down)} : {self.string(down)})"

    def list(self, depth):
        if depth <= 0:
            return self.rng.choice(["li", "[1, 2]", "[i, j]"])
        return self.rng.choice([lambda: f"({self.list(depth - 1)} + li)", lambda: self.macro("map", depth - 1)])()

    def macro(self, name, depth):
        over = self.list(depth)
        self.ints.append("v")
        body = self.int(depth) if name == "map" else self.bool(depth)
        self.ints.remove("v")
        return f"{over}.{name}(v, {body})"


@settings(max_examples=examples(150), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_core_of_the_language_agrees_with_cel_python(celpy_environment, seed):
    rng = random.Random(seed)
    core = Core(rng)
    source = rng.choice([core.bool, core.int, core.string, core.list])(3)
    theirs = celpy_environment.program(celpy_environment.compile(source))
    try:
        wanted = theirs.evaluate({name: json_to_cel(value) for name, value in DATA.items()})
    except CELEvalError:
        with pytest.raises(CelError):
            ENV.compile(source).evaluate(DATA)
        return
    assert ENV.compile(source).evaluate(DATA) == wanted, source
