import pytest

from tests.cel.calls import call, error
from webhook.cel.cost.runtime import size_of
from webhook.cel.library.ip import to_cidr, to_ip

PARSE = "IP Address {0} parse error during conversion from string: ParseAddr({0}): {1}"
PREFIX = "network address parse error during conversion from string: " * 2 + "netip.ParsePrefix({}): {}"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("::", "::"),
        ("::1.2.3.4", "::102:304"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
    ],
)
def test_addresses_print_canonically(text, shown):
    assert call("string", call("ip", text)) == shown
    assert call("ip.isCanonical", text) is (text == shown)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unable to parse IP"),
        ("%", "missing IPv6 address"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("256.1.1.1", "IPv4 field has value >255"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        ("a.b", 'unexpected character (at "a.b")'),
        ("::1%", "zone must be a non-empty string"),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1:2:3:4:5:6:7::8", "the :: must expand to at least one field of zeros"),
        ("1:2", "address string too short"),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("::x", 'each colon-separated field must have at least one digit (at "x")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
    ],
)
def test_invalid_addresses(text, message):
    assert error("ip", text) == PARSE.format(f'"{text}"', message)
    assert call("isIP", text) is False


def test_addresses_that_kubernetes_refuses():
    assert error("ip", "fe80::1%eth0") == 'IP address "fe80::1%eth0" with zone value is not allowed'
    assert error("ip", "::ffff:1.2.3.4") == 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'


@pytest.mark.parametrize(
    ("function", "yes", "no"),
    [
        ("isUnspecified", ("0.0.0.0", "::"), ("127.0.0.1", "::1")),
        ("isLoopback", ("127.9.9.9", "::1"), ("128.0.0.1", "::2")),
        ("isLinkLocalMulticast", ("224.0.0.1", "ff02::1"), ("224.0.1.1", "fd00::1")),
        ("isLinkLocalUnicast", ("169.254.1.1", "fe80::1"), ("192.168.0.1", "fd80::1")),
        ("isGlobalUnicast", ("192.168.0.1", "2001:db8::1"), ("255.255.255.255", "ff00::1", "0.0.0.0", "::1")),
    ],
)
def test_kinds_of_addresses(function, yes, no):
    assert [call(function, to_ip(text)) for text in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_families_and_sizes():
    assert [call("family", to_ip(text)) for text in ("1.2.3.4", "::1")] == [4, 6]
    assert [size_of(to_ip("1.2.3.4")), size_of(to_cidr("10.0.0.0/9"))] == [4, 2]
    assert call("_==_", to_ip("2001:DB8::1"), to_ip("2001:db8::1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10.0.0.0", "no '/'"),
        ("10.0.0.0/a", 'bad bits after slash: "a"'),
        ("10.0.0.0/01", 'bad bits after slash: "01"'),
        ("10.0.0.0/+8", 'bad bits after slash: "+8"'),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::/129", "prefix length out of range"),
        ("fe80::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("x/3", 'ParseAddr("x"): unable to parse IP'),
    ],
)
def test_invalid_networks(text, message):
    assert error("cidr", text) == PREFIX.format(f'"{text}"', message)
    assert call("isCIDR", text) is False


@pytest.mark.parametrize(
    ("function", "network", "other", "result"),
    [
        ("containsIP", "10.0.0.0/8", "10.1.2.3", True),
        ("containsIP", "10.0.0.0/8", "::1", False),
        ("containsIP", "0.0.0.0/0", "1.2.3.4", True),
        ("containsCIDR", "10.0.0.0/8", "10.1.0.0/16", True),
        ("containsCIDR", "10.0.0.0/8", "0.0.0.0/0", False),
        ("containsCIDR", "0.0.0.0/0", "::/0", False),
        ("containsCIDR", "10.1.0.0/16", "10.1.2.3/32", True),
    ],
)
def test_what_a_network_contains(function, network, other, result):
    parse = to_ip if function == "containsIP" else to_cidr
    assert call(function, to_cidr(network), other) is result
    assert call(function, to_cidr(network), parse(other)) is result


def test_a_network_keeps_its_host_bits_until_it_is_masked():
    network = to_cidr("10.1.2.3/8")
    assert [str(network), str(call("masked", network)), str(call("ip", network))] == [
        "10.1.2.3/8",
        "10.0.0.0/8",
        "10.1.2.3",
    ]
    assert call("prefixLength", network) == 8
    assert not call("_==_", network, call("masked", network))


def test_an_invalid_address_fails_as_upstream():
    assert error("containsIP", to_cidr("10.0.0.0/8"), "x") == "no such overload"
    assert error("containsCIDR", to_cidr("10.0.0.0/8"), "x").endswith("no '/'")
