"""The source of generated functions, as tracebacks, profilers and debuggers find it."""

import inspect
import linecache
import traceback

import pytest

from webhook.cel import Environment
from webhook.cel.codegen.generate import file_name
from webhook.cel.types import DYN, INT

ENV = Environment(variables={"x": INT, "y": DYN})


class Interrupted(dict):
    def __getitem__(self, key):
        raise KeyboardInterrupt


def test_a_traceback_shows_the_rule_and_the_line():
    program = ENV.compile("x + 1 > 0", name="AB123 spec.x rule")
    with pytest.raises(KeyboardInterrupt) as caught:
        program.evaluate(Interrupted())
    shown = "".join(traceback.format_exception(caught.value))
    assert "File \"<cel> AB123 spec.x rule\", line 7, in run\n    t0 = V['x']\n" in shown


def test_the_source_is_found_by_its_function():
    program = ENV.compile("x > 7")
    source = inspect.getsource(program.evaluate)
    assert "t0 > 7" in source
    assert source in program.generated().text
    assert program.evaluate.__code__.co_filename == "<cel> x > 7"


@pytest.mark.parametrize(
    "source",
    ["x", "x + 1", "y.a.b == 'c' && has(y.d)", "y.all(a, a.b in ['c', 'd'])", "y.map(a, a + 1)[0] == x ? 'a' : 'b'"],
)
def test_the_source_that_is_written_again_is_the_one_that_runs(source):
    program = ENV.compile(source)
    scope = {}
    exec(program.generated().text, scope)
    again = scope["make"](*[None] * scope["make"].__code__.co_argcount)
    assert again.__code__.co_code == program.evaluate.__code__.co_code


def test_a_source_is_kept_no_longer_than_its_program():
    program = ENV.compile("x == 98")
    other = ENV.compile("x == 98")
    file = program.evaluate.__code__.co_filename
    assert file in linecache.cache
    del program
    assert file in linecache.cache
    del other
    assert file not in linecache.cache


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("LK205  spec\nrule", "<cel> LK205 spec rule"),
        ("a\0b > ", "<cel> a?b"),
        ("x" * 200, f"<cel> {'x' * 99}…"),
    ],
)
def test_a_file_name_is_one_short_line(name, file):
    assert file_name(name) == file


def test_what_only_the_interpreter_runs_has_no_source():
    assert ENV.compile("{'a': x}").generated() is None
