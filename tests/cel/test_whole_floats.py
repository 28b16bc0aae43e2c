"""A float like 5.0 in an integer field: an error to a rule of a CRD, and the integer to a rule of a Policy."""

from typing import Any

import pytest

from webhook.cel import CelError, Environment

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "port": {"x-kubernetes-int-or-string": True},
        "all": {"type": "array", "items": {"type": "integer"}},
        "by": {"type": "object", "additionalProperties": {"type": "integer"}},
        "x": {"type": "number"},
    },
}
TRUE: list[tuple[str, dict[str, Any]]] = [
    ("self.n == 5 && string(self.n) == '5'", {"n": 5.0}),
    ("self.n == 0", {"n": -0.0}),
    ("self.?n.orValue(1) % 2 == 0", {"n": 1e9}),
    ("has(self.n) && self.n + 1 == -2", {"n": -3.0}),
    ("type(self.port) == int && self.port == 80", {"port": 80.0}),
    ("self.all.all(each, each / 2 == 2) && self.all[0] == 5 && 5 in self.all", {"all": [5.0, 4]}),
    ("dyn(self.all).map(each, string(each)) == ['5', '4']", {"all": [5.0, 4]}),
    ("self.by['a'] == 5 && dyn(self) == dyn(self)", {"by": {"a": 5.0}}),
    ("self.x == 5.0 && type(self.x) == double", {"x": 5}),
]


def environment(*, whole_floats: bool) -> Environment:
    return Environment().with_schema("self", SCHEMA, whole_floats=whole_floats)


@pytest.mark.parametrize(("source", "value"), TRUE)
def test_a_whole_float_is_the_integer_in_both_backends(source: str, value: dict[str, Any]) -> None:
    program = environment(whole_floats=True).compile(source)
    assert program.evaluate({"self": value}) is True
    assert program.evaluate_exactly({"self": value}) is True


@pytest.mark.parametrize("value", [5.0, 1.5, 1e300, float("inf"), 2.0**63, True, "5"])
def test_a_rule_of_a_definition_reads_integers_only(value: Any) -> None:
    with pytest.raises(CelError, match="invalid data, expected int, got"):
        environment(whole_floats=False).compile("self.n > 0").evaluate({"self": {"n": value}})


@pytest.mark.parametrize("value", [1.5, 1e300, float("inf"), float("nan"), 2.0**63, True, "5"])
def test_only_a_whole_number_of_64_bits_is_an_integer(value: Any) -> None:
    with pytest.raises(CelError, match="invalid data, expected int, got"):
        environment(whole_floats=True).compile("self.n > 0").evaluate({"self": {"n": value}})
