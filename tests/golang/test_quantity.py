"""Quantities as apimachinery reads and prints them."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from webhook.golang.errors import GoError
from webhook.golang.quantity import parse


@pytest.mark.parametrize(
    ("text", "printed"),
    [("0.5Gi", "512Mi"), ("1500m", "1500m"), ("1024Mi", "1Gi"), ("1.50", "1500m"), ("0.1n", "1n"), ("1e3", "1e3")],
)
def test_quantities_print_in_canonical_form(text, printed):
    assert str(parse(text)) == printed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 Gi", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("5K", "unable to parse quantity's suffix"),
        ("1.k5", "unable to parse quantity's suffix"),
    ],
)
def test_errors_of_quantities(text, message):
    with pytest.raises(GoError) as caught:
        parse(text)
    assert caught.value.message == message


_SUFFIXES = ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-3"]


@given(st.decimals(0, 10**6, places=3), st.sampled_from(_SUFFIXES))
def test_a_printed_quantity_is_the_same_quantity(number, suffix):
    quantity = parse(f"{number}{suffix}")
    assume(quantity.amount < 10**21)  # Kubernetes has no suffix above E, and prints 1000E as "1"
    assert parse(str(quantity)).amount == quantity.amount
