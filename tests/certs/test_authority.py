from datetime import timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store

from certs.authority import Authority
from certs.credentials import Credentials
from certs.errors import AuthorityError, ClockError, InvalidNameError
from certs.lifetimes import BACKDATED, Lifetimes
from certs.names import Names
from tests.certs.material import DAY, NOW, SERVICE, ca, private, signed_by

CA_LIFETIME, LEAF_LIFETIME = Lifetimes().ca, Lifetimes().leaf


def leaf_of(credentials):
    return x509.load_pem_x509_certificate(credentials.certificate)


def extension(certificate, kind):
    return certificate.extensions.get_extension_for_class(kind)


def test_a_leaf_is_verified_by_name_and_address_against_its_bundle():
    leaf = ca().issue(SERVICE | Names.of("10.1.2.3"), NOW)
    trusted = Store(x509.load_pem_x509_certificates(leaf.authorities))
    builder = PolicyBuilder().store(trusted).time(NOW)
    for subject in [*map(x509.DNSName, SERVICE.dns), x509.IPAddress(Names.of("10.1.2.3").ips[0])]:
        assert len(builder.build_server_verifier(subject).verify(leaf_of(leaf), [])) == 2


def test_a_ca_may_sign_leaves_and_nothing_else():
    certificate = ca().certificate
    assert extension(certificate, x509.BasicConstraints).value == x509.BasicConstraints(ca=True, path_length=0)
    assert extension(certificate, x509.BasicConstraints).critical
    usage = extension(certificate, x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.crl_sign, usage.digital_signature) == (True, True, False)
    assert isinstance(certificate.public_key().curve, ec.SECP256R1)


def test_a_leaf_may_serve_and_nothing_else():
    leaf = leaf_of(ca().issue(SERVICE, NOW))
    assert not extension(leaf, x509.BasicConstraints).value.ca
    assert list(extension(leaf, x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.SERVER_AUTH]
    usage = extension(leaf, x509.KeyUsage).value
    assert (usage.key_cert_sign, usage.digital_signature) == (False, True)


def test_a_leaf_names_the_key_that_signed_it():
    authority = ca()
    signer = extension(leaf_of(authority.issue(SERVICE, NOW)), x509.AuthorityKeyIdentifier).value.key_identifier
    assert signer == extension(authority.certificate, x509.SubjectKeyIdentifier).value.digest


def test_serial_numbers_are_random_and_two_cas_have_two_subjects():
    one, other = ca(), ca()
    assert one.certificate.subject != other.certificate.subject
    leaves = {leaf_of(one.issue(SERVICE, NOW)).serial_number for _ in range(8)}
    assert len(leaves) == 8
    assert min(leaves | {one.certificate.serial_number, other.certificate.serial_number}) > 2**64


def test_lifetimes_begin_in_the_past_and_a_leaf_is_short():
    authority = ca()
    leaf = leaf_of(authority.issue(SERVICE, NOW))
    assert (NOW - leaf.not_valid_before_utc, leaf.not_valid_after_utc - NOW) == (BACKDATED, LEAF_LIFETIME)
    assert authority.certificate.not_valid_after_utc - NOW == CA_LIFETIME


def test_a_leaf_never_outlives_its_ca():
    authority = ca()
    late = NOW + CA_LIFETIME - DAY
    assert leaf_of(authority.issue(SERVICE, late)).not_valid_after_utc == authority.certificate.not_valid_after_utc


def test_a_long_service_name_is_accepted():
    names = Names.of_service("s" * 63, "n" * 63)
    assert set(names.extension()) == set(extension(leaf_of(ca().issue(names, NOW)), x509.SubjectAlternativeName).value)


def test_a_leaf_without_a_name_is_refused():
    with pytest.raises(InvalidNameError, match="at least one DNS name or IP address"):
        ca().issue(Names(), NOW)


def test_what_was_stored_is_loaded_again():
    authority = ca()
    loaded = Authority.load(authority.credentials(), NOW + DAY)
    assert loaded.certificate == authority.certificate
    assert loaded.credentials() == authority.credentials()


def test_a_bundle_of_two_is_kept_as_it_is():
    old, new = ca(), ca()
    stored = Credentials(new.credentials().certificate, new.credentials().key, old.bundle + new.bundle)
    assert Authority.load(stored, NOW).issue(SERVICE, NOW).authorities == old.bundle + new.bundle


def test_an_rsa_ca_of_cert_manager_will_do():
    key = rsa.generate_private_key(65537, 2048)
    stored = signed_by(key, ca=True)
    leaf = leaf_of(Authority.load(stored, NOW).issue(SERVICE, NOW))
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(stored.certificate))


def replaced(**parts) -> Credentials:
    good = ca().credentials()
    return Credentials(**{"certificate": good.certificate, "key": good.key, "authorities": good.authorities} | parts)


LOCKED = private(ec.generate_private_key(ec.SECP256R1()), serialization.BestAvailableEncryption(b"secret"))


@pytest.mark.parametrize(
    ("stored", "complaint"),
    [
        (lambda: replaced(certificate=b"hello"), "tls.crt is not a PEM certificate"),
        (lambda: replaced(certificate=ca().bundle[:200]), "tls.crt is not a PEM certificate"),
        (lambda: replaced(key=b"hello"), "tls.key is not an unencrypted PEM private key"),
        (lambda: replaced(key=LOCKED), "tls.key is not an unencrypted PEM private key"),
        (lambda: replaced(key=ca().credentials().key), "tls.key is not the key of tls.crt"),
        (lambda: replaced(authorities=b"hello"), "ca.crt is not a PEM certificate"),
        (lambda: replaced(authorities=ca().bundle), "ca.crt does not contain the certificate in tls.crt"),
        (lambda: ca().issue(SERVICE, NOW), r"tls.crt \(CN=modelgate\) is not a CA certificate"),
        (lambda: signed_by(ec.generate_private_key(ec.SECP256R1()), ca=False), r"\(CN=other\) is not a CA certificate"),
        (lambda: signed_by(ec.generate_private_key(ec.SECP256R1()), ca=True, usage=False), "is not a CA certificate"),
        (lambda: signed_by(ed25519.Ed25519PrivateKey.generate(), ca=True), "neither an ECDSA nor an RSA key"),
    ],
)
def test_an_unusable_ca_is_refused_with_its_reason(stored, complaint):
    with pytest.raises(AuthorityError, match=complaint):
        Authority.load(stored(), NOW)


def test_a_ca_of_the_future_is_refused_and_the_clock_is_blamed():
    with pytest.raises(ClockError, match=r"valid from 2031-05-06 06:08:09 UTC on, but the clock says .*: correct the"):
        Authority.load(ca().credentials(), NOW - BACKDATED - timedelta(seconds=1))


def test_an_expired_ca_is_loaded_and_says_so():
    assert not Authority.load(ca().credentials(), NOW).expired(NOW + CA_LIFETIME - timedelta(seconds=1))
    assert Authority.load(ca().credentials(), NOW + CA_LIFETIME).expired(NOW + CA_LIFETIME)


def test_a_ca_knows_whether_it_was_made_here():
    assert ca().own
    assert not Authority.load(signed_by(ec.generate_private_key(ec.SECP256R1()), ca=True), NOW).own


def test_no_representation_holds_a_key():
    authority = ca()
    shown = repr(authority) + repr(authority.credentials()) + str(authority)
    assert "PRIVATE" not in shown
    assert "key=" not in shown
