import pytest

from tests.cel.calls import call, error
from webhook.cel.environment import Environment
from webhook.cel.errors import CelError
from webhook.cel.library.quantity import parse_quantity
from webhook.cel.program import Budget

FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0", "0"),
        ("1e3", "1e3"),
        ("0.5m", "500u"),
        (".5", "500m"),
        ("5.", "5."),
        ("1000", "1k"),
        ("1024Ki", "1Mi"),
        ("0.5Gi", "512Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.0001Ki", "102400u"),
        ("-1", "-1"),
        ("1n", "1n"),
        ("0.1n", "1n"),  # rounded up to the least there is
        ("1000E", "1"),  # upstream has no suffix for so much, and prints none
        ("9999999999999999999", "9999999999999999999"),
        ("99999999999999999999Ki", "9223372036854775807"),  # the most there is
        ("Gi", "0"),
        ("12E", "12E"),
        ("1E2", "100"),
    ],
)
def test_quantities_print_as_kubernetes_prints_them(text, shown):
    assert str(parse_quantity(text)) == shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", FORM),
        (" 1", FORM),
        ("1 Gi", FORM),
        ("1gi", FORM),
        ("1..2", FORM),
        ("\u0661", FORM),
        ("1K", "unable to parse quantity's suffix"),
        ("1e", "unable to parse quantity's suffix"),
        ("1e99999999999999999999", "unable to parse quantity's suffix"),
        ("Ei", "unable to parse numeric part of quantity"),
        ("1" * 20 + "e2000000000", "unable to parse numeric part of quantity"),
    ],
)
def test_invalid_quantities(text, message):
    assert error("quantity", text) == message
    assert call("isQuantity", text) is False


@pytest.mark.parametrize(
    ("function", "args", "result"),
    [
        ("compareTo", ("200M", "0.2G"), 0),
        ("compareTo", ("50M", "50Mi"), -1),
        ("isGreaterThan", ("150Mi", "100Mi"), True),
        ("isLessThan", ("1e2000000000", "1"), False),
        ("isInteger", ("50k",), True),
        ("isInteger", ("1.5",), False),
        ("isInteger", ("9999999999999999999",), False),
        ("isInteger", ("1e1000000",), False),
        ("asInteger", ("50k",), 50_000),
        ("asApproximateFloat", ("1.5",), 1.5),
        ("asApproximateFloat", ("1e400",), float("inf")),
        ("sign", ("-1",), -1),
    ],
)
def test_questions_to_quantities(function, args, result):
    assert call(function, *map(parse_quantity, args)) == result


def test_arithmetic_keeps_the_notation_of_the_receiver():
    assert str(call("add", parse_quantity("1Gi"), 1)) == "1073741825"
    assert str(call("add", parse_quantity("1Gi"), parse_quantity("1Gi"))) == "2Gi"
    assert str(call("sub", parse_quantity("50k"), 20_000)) == "30k"
    assert str(call("add", parse_quantity("0"), parse_quantity("1Gi"))) == "1Gi"
    assert error("add", parse_quantity("1e2000000000"), 1) == "quantity out of range"
    assert error("asInteger", parse_quantity("1.5")) == "cannot convert value to integer"


def test_a_computed_quantity_to_the_right_of_equals_is_an_error_upstream():
    two, sum_ = parse_quantity("2"), call("add", parse_quantity("1"), 1)
    assert call("_==_", sum_, two) is True
    assert error("_==_", two, sum_) == "no such overload"


def test_a_quantity_of_megabytes_of_digits_is_read_at_once():
    long = parse_quantity("9" * 3_000_000)
    assert call("isInteger", long) is False
    assert call("compareTo", long, parse_quantity("1")) == 1


@pytest.mark.parametrize("text", ["9" * 1_000_000 + "x", "0" * 1_000_000 + "x", "1." + "0" * 1_000_000 + "."])
def test_megabytes_of_digits_that_are_not_a_quantity_are_refused_at_once(text):
    """Python tries every border between two numbers that stand side by side, which would take hours."""
    assert call("isQuantity", text) is False


@pytest.mark.parametrize("value", ["quantity('1k')", "quantity('1').add(1)", "url('https://a/b')", "semver('1.2.3')"])
@pytest.mark.parametrize(
    ("form", "found"),
    [
        ("{0} == null", False),
        ("{0} != null", True),
        ("null == {0}", False),
        ("[{0}] == [dyn(null)]", False),
        ("{{'k': {0}}} == {{'k': dyn(null)}}", False),
        ("optional.of({0}) == optional.of(dyn(null))", "no such overload"),
        ("optional.of([{0}]) == optional.of([dyn(null)])", False),
        ("dyn({0}) in [dyn(null)]", False),
    ],
)
def test_a_value_of_a_library_is_not_null(value: str, form: str, found: object) -> None:
    """As the API server answers; it asks a value itself about null only within optionals."""
    program = Environment((1, 37)).compile(form.format(f"dyn({value})"))
    for evaluate in (program.evaluate, program.evaluate_exactly):
        try:
            answer: object = evaluate({}, Budget())
        except CelError as error:
            answer = error.message
        assert answer == found
