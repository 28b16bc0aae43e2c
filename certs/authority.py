"""A certificate authority: create it, load it, and sign with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.credentials import CA_CRT, TLS_CRT, TLS_KEY, Credentials
from certs.errors import AuthorityError, ClockError, InvalidNameError
from certs.lifetimes import BACKDATED, Lifetimes
from certs.names import Names

_DEFAULT = Lifetimes()
_OWN = "modelgate CA "

PrivateKey: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


@dataclass(frozen=True, slots=True)
class Authority:
    """A CA certificate, its key, and the bundle (PEM) for clients: in a rotation, it also holds the other CA."""

    certificate: x509.Certificate
    key: PrivateKey = field(repr=False)
    bundle: bytes

    def __str__(self) -> str:
        return f"{self.certificate.subject.rfc4514_string()}, until {self.certificate.not_valid_after_utc:%F}"

    @classmethod
    def create(cls, now: datetime, lifetimes: Lifetimes = _DEFAULT) -> Authority:
        """Make a new self-signed CA. P-256 has the cheapest handshake, and every client of Kubernetes speaks it."""
        key = ec.generate_private_key(ec.SECP256R1())
        serial = x509.random_serial_number()
        # Part of the serial number is in the subject: in a rotation old and new stand side by side, and OpenSSL
        # looks for an issuer by its subject.
        subject = _subject(f"{_OWN}{serial >> 127:08x}")
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        certificate = (
            _builder(subject, subject, key, identifier)
            .serial_number(serial)
            .not_valid_before(now - BACKDATED)
            .not_valid_after(now + lifetimes.ca)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(key_cert_sign=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key, certificate.public_bytes(serialization.Encoding.PEM))

    @classmethod
    def load(cls, stored: Credentials, now: datetime) -> Authority:
        """Read what :meth:`credentials` gave, or cert-manager wrote for a CA; raises AuthorityError or ClockError.

        An expired CA is loaded, so that it can be replaced; see :meth:`expired`.
        Everything is checked before the first leaf is signed: what is wrong here would show only as
        ``x509: certificate signed by unknown authority`` in the API server's refusals.
        """
        certificate, key = _certificates(stored.certificate, TLS_CRT)[0], _key(stored.key)
        if certificate.public_key() != key.public_key():
            raise AuthorityError(f"{TLS_KEY} is not the key of {TLS_CRT}")
        if not _may_sign(certificate):
            raise AuthorityError(f"{TLS_CRT} ({certificate.subject.rfc4514_string()}) is not a CA certificate")
        begin = certificate.not_valid_before_utc
        if now < begin:
            raise ClockError(
                f"{TLS_CRT} is valid from {begin:%F %T} UTC on, but the clock says {now:%F %T}: correct the clock and "
                "keep the CA"
            )
        if certificate not in _certificates(stored.authorities, CA_CRT):
            raise AuthorityError(
                f"{CA_CRT} does not contain the certificate in {TLS_CRT}, so clients would not trust it"
            )
        return cls(certificate, key, stored.authorities)

    @property
    def own(self) -> bool:
        """Whether :meth:`create` made it. Others renew theirs, such as cert-manager."""
        return any(
            str(each.value).startswith(_OWN)
            for each in self.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        )

    def expired(self, now: datetime) -> bool:
        return now >= self.certificate.not_valid_after_utc

    def credentials(self) -> Credentials:
        """What a store keeps."""
        return Credentials(self.certificate.public_bytes(serialization.Encoding.PEM), _pem(self.key), self.bundle)

    def issue(self, names: Names, now: datetime, lifetimes: Lifetimes = _DEFAULT) -> Credentials:
        """Sign a leaf for a server, never outliving its CA; raises InvalidNameError if ``names`` is empty."""
        if not names:
            raise InvalidNameError("a server certificate needs at least one DNS name or IP address")
        key = ec.generate_private_key(ec.SECP256R1())
        # The subject is fixed: a common name has at most 64 characters, and Go ignores it since 1.15.
        certificate = (
            _builder(_subject("modelgate"), self.certificate.subject, key, _identifier(self.certificate))
            .serial_number(x509.random_serial_number())
            .not_valid_before(max(now - BACKDATED, self.certificate.not_valid_before_utc))
            .not_valid_after(min(now + lifetimes.leaf, self.certificate.not_valid_after_utc))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(digital_signature=True), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(names.extension(), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return Credentials(certificate.public_bytes(serialization.Encoding.PEM), _pem(key), self.bundle)


def _subject(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, signer: x509.SubjectKeyIdentifier
) -> x509.CertificateBuilder:
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(signer)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return builder.add_extension(own, critical=False).add_extension(signed_by, critical=False)


def _usage(*, digital_signature: bool = False, key_cert_sign: bool = False) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=digital_signature,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=key_cert_sign,
        crl_sign=key_cert_sign,
        encipher_only=False,
        decipher_only=False,
    )


def _identifier(certificate: x509.Certificate) -> x509.SubjectKeyIdentifier:
    """The identifier in the certificate, if there is one: there is more than one way to compute it."""
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.SubjectKeyIdentifier.from_public_key(certificate.public_key())


def _pem(key: PrivateKey) -> bytes:
    # PKCS 8, unencrypted: every TLS library reads it, and a passphrase would have to be stored beside it.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _certificates(pem: bytes, name: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise AuthorityError(f"{name} is not a PEM certificate") from error


def _key(pem: bytes) -> PrivateKey:
    try:
        key = serialization.load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:  # TypeError: the key is encrypted
        raise AuthorityError(f"{TLS_KEY} is not an unencrypted PEM private key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise AuthorityError(f"{TLS_KEY} is neither an ECDSA nor an RSA key")
    return key


def _may_sign(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except (x509.ExtensionNotFound, ValueError):  # ValueError: an extension that does not parse
        return False
    return constraints.ca and usage.key_cert_sign
