import pytest

from tests.cel.calls import call
from webhook.cel import LATEST, types
from webhook.cel.cost.runtime import call_cost
from webhook.cel.library.registry import LIBRARIES, constants, overloads
from webhook.cel.library.strings import JSON_PATCH
from webhook.cel.values.value import type_name

SINCE = {
    (1, 0): ["size", "matches", "find", "url", "isSorted", "charAt", "startsWith"],
    (1, 27): ["check", "serviceAccount"],
    (1, 28): ["optional.of", "quantity", "orValue"],
    (1, 29): ["format", "strings.quote", "sets.contains"],
    (1, 30): ["ip", "cidr", "isCIDR"],
    (1, 31): ["format.dns1123Label", "validate", "fieldSelector"],
    (1, 32): ["cel.@mapInsert"],
    (1, 33): ["semver"],
    (1, 34): ["slice", "sort", "lists.range", "distinct"],
    (1, 37): ["includes"],
}


@pytest.mark.parametrize(("since", "names"), SINCE.items())
def test_functions_come_with_their_version(since, names):
    before = overloads((since[0], since[1] - 1), stored=False) if since[1] else {}
    at = overloads(since, stored=False)
    assert [name for name in names if name not in at] == []
    assert [name for name in names if name in before] == []


def test_a_stored_expression_may_use_whatever_any_version_has():
    assert overloads((1, 27)).keys() == overloads(LATEST).keys()
    assert "includes" not in overloads((1, 36), stored=False)
    assert "reverse" in overloads((1, 27))


@pytest.mark.parametrize("version", [(1, 0), (1, 28), (1, 29), (1, 36), LATEST])
def test_no_signature_is_declared_twice(version):
    ids = [each.id for group in overloads(version, stored=False).values() for each in group]
    assert len(ids) == len(set(ids))


def test_type_names():
    assert type_name(constants(LATEST)["net.IP"]) == "net.IP"
    assert constants(LATEST)["int"] is types.INT
    assert "net.IP" not in constants((1, 29), stored=False)
    assert "optional_type" not in constants((1, 27), stored=False)
    assert "kubernetes.Quantity" not in constants(LATEST)


def test_every_library_has_a_name_of_its_own():
    names = [library.name for library in LIBRARIES]
    assert len(names) == len(set(names))
    assert [library.name for library in LIBRARIES if library.until] == ["strings"]


def test_a_member_has_a_receiver():
    for group in overloads(LATEST).values():
        assert all(each.args for each in group if each.member)


def test_patches_escape_keys():
    (escape,) = JSON_PATCH
    assert escape.impl("k8s.io/my~label") == "k8s.io~1my~0label"


@pytest.mark.parametrize(
    ("function", "overload", "args", "result", "cost"),
    [
        ("_==_", "equals", ("a" * 25, "a" * 40), False, 3),
        ("_+_", "add_string", ("a" * 5, "b" * 6), "", 2),
        ("_+_", "", ("a" * 50, "b" * 60), "", 1),
        ("_<_", "less_string", ("a", ""), False, 0),
        ("@in", "in_list", (1, [1, 2, 3]), True, 3),
        ("startsWith", "starts_with_string", ("a" * 99, "b" * 11), False, 2),
        ("contains", "contains_string", ("a" * 99, "b" * 11), False, 20),
        ("matches", "matches_string", ("a" * 9, "b" * 8), False, 2),
        ("join", "list_join", (["a" * 20],), "a" * 20, 4),
        ("sum", "list_int_sum_int", ([1, 2, 3],), 6, 3),
        ("max", "list_string_max_string", (["\u00fc" * 5, "a" * 19],), "", 2),
        ("lists.range", "lists_range", (5,), [0] * 5, 16),
        ("sort", "list_string_sort", (["a", "b"],), ["a", "b"], 19),
        ("sets.equivalent", "list_sets_equivalent_list", ([1, 2], [1, 2, 3]), False, 13),
        ("check", "pathcheck_check", (None, "get"), None, 350_000),
        ("fieldSelector", "authorizer_fieldselector", (None, "k=v"), None, 10 + 1 + 2 * 50),
    ],
)
def test_costs_of_calls(function, overload, args, result, cost):
    charge = call_cost(function, overload)
    assert (1 if charge is None else charge(args, result)) == cost


def test_a_dynamic_call_finds_its_overload_at_run_time():
    assert [call("indexOf", "abc", "c"), call("indexOf", ["a", "c"], "c")] == [2, 1]
    assert [call("string", value) for value in (1, True, b"a")] == ["1", "true", "a"]
