"""Names by Kubernetes' rules, in the words of apimachinery 0.36 and 0.37."""

import pytest

from webhook.golang.names import dns_1035_label, dns_1123_label, dns_1123_subdomain, label_key, label_value


@pytest.mark.parametrize(
    ("check", "value", "problems"),
    [
        (dns_1123_label, "a" * 64, ["must be no more than 63 characters"]),
        (dns_1123_label, "a.b", ["must not contain dots"]),
        (dns_1123_subdomain, "a" * 254, ["must be no more than 253 characters"]),
        (dns_1035_label, "a" * 64, ["must be no more than 63 characters"]),
        (label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (label_key, "a" * 64, ["name part must be no more than 63 bytes"]),
        (label_key, "a" * 254 + "/b", ["prefix part must be no more than 253 bytes"]),
        (label_key, "/b", ["prefix part must be non-empty"]),
    ],
)
def test_what_is_wrong_with_a_name(check, value, problems):
    assert check(value) == problems


def test_length_counts_bytes():
    assert dns_1123_label("\u00fc" * 32)[0] == "must be no more than 63 characters"


def test_an_empty_name_part_has_two_problems():
    problems = label_key("a/")
    assert problems[0] == "name part must be non-empty"
    assert problems[1].startswith("name part must consist of alphanumeric characters")


@pytest.mark.parametrize("check", [dns_1123_label, dns_1123_subdomain, dns_1035_label, label_key, label_value])
def test_names_that_every_rule_accepts(check):
    assert check("my-name") == []
