import pytest

from tests.cel.calls import call, error
from webhook.cel.library.formats import NAMED_FORMATS

VALID = [
    ("dns1123Label", "my-name"),
    ("dns1123Subdomain", "a.b-c.d"),
    ("dns1035Label", "abc-123"),
    ("qualifiedName", "example.com/My_Name"),
    ("qualifiedName", "MyName"),
    ("dns1123LabelPrefix", "my-"),
    ("dns1123LabelPrefix", "a.-"),  # the dash takes what is before it along
    ("dns1123SubdomainPrefix", "a.b-"),
    ("dns1035LabelPrefix", "a-"),
    ("labelValue", ""),
    ("labelValue", "My_value.1"),
    ("uri", "http://example.com"),
    ("uuid", "123E4567e89b12d3a456426614174000"),
    ("byte", "aGVsbG8="),
    ("date", "2020-02-29"),
    ("date", "0000-01-01"),
    ("datetime", "2021-01-01t00:00:00.5z"),
    ("datetime", "2021-01-01T00:00:00x5+01:00"),
]
INVALID = [
    ("dns1123Label", "a.b", ["must not contain dots"]),
    ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
    ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"]),
    ("qualifiedName", "/b", ["prefix part must be non-empty"]),
    ("qualifiedName", "a/" + "b" * 64, ["name part must be no more than 63 bytes"]),
    ("uri", "x", ['parse "x": invalid URI for request']),
    ("uuid", "x", ["does not match the UUID format"]),
    ("byte", "aGVsbG8", ["invalid base64"]),
    ("byte", "aGVsbG8=\n", ["invalid base64"]),
    ("byte", "", ["invalid base64"]),
    ("date", "2021-02-30", ["invalid date"]),
    ("datetime", "2021-01-01T24:00:00Z", ["invalid datetime"]),
    ("datetime", "2021-01-01", ["invalid datetime"]),
]


@pytest.mark.parametrize(("name", "text"), VALID)
def test_what_has_the_format(name, text):
    assert not call("validate", call(f"format.{name}"), text).present


@pytest.mark.parametrize(("name", "text", "problems"), INVALID)
def test_an_invalid_text_of_a_format_has_its_problems(name, text, problems):
    assert call("validate", NAMED_FORMATS[name], text).value == problems


@pytest.mark.parametrize("name", ["dns1123Label", "dns1123Subdomain", "dns1035Label", "labelValue", "qualifiedName"])
def test_the_rules_of_names_are_told_with_their_pattern(name):
    (*_, problem) = call("validate", NAMED_FORMATS[name], "-a").value
    assert "regex used for validation is '" in problem


def test_formats_by_name():
    assert call("format.named", "uri").value is call("format.uri")
    assert not call("format.named", "email").present
    assert not call("_==_", call("format.uri"), call("format.date"))
    assert error("validate", call("format.uri"), 1) == "no such overload: validate(kubernetes.NamedFormat, int)"


def test_long_names_are_judged_at_once():
    assert call("validate", call("format.dns1123Subdomain"), "a." * 100_000 + "!").present
    assert call("validate", call("format.qualifiedName"), "a" * 300_000 + "!").present
