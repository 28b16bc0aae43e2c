import pytest
from cryptography import x509

from certs.errors import InvalidNameError
from certs.names import LOCAL, Names


def test_a_service_is_called_by_three_names():
    assert Names.of_service("gate", "ns").dns == ("gate.ns.svc", "gate.ns.svc.cluster.local", "gate.ns")


def test_addresses_are_told_from_names():
    assert str(Names.of("a.example", "10.0.0.1", "::1")) == "a.example, 10.0.0.1, ::1"
    assert list(Names.of("a.example", "10.0.0.1").extension()) == [
        x509.DNSName("a.example"),
        x509.IPAddress(Names.of("10.0.0.1").ips[0]),
    ]


def test_a_union_keeps_order_and_drops_repetitions():
    assert (Names.of("b", "::1") | Names.of("a", "b", "::1")) == Names.of("b", "a", "::1")


def test_no_name_is_false():
    assert not Names()
    assert LOCAL


@pytest.mark.parametrize(
    "text",
    ["", ".", "a..b", "A.example", "*.example", "a_b", "-a", "a-", "a" * 64, "a." * 127 + "a", "a\n", "10.0.0.1/8"],
)
def test_what_is_neither_is_refused(text):
    with pytest.raises(InvalidNameError, match="is neither an IP address nor a DNS name"):
        Names.of(text)


def test_the_longest_name_is_taken():
    label = "a" * 63
    assert Names.of(".".join([label, label, label, "a" * 61])).dns
