"""CAs and times for the tests of certificates; nothing here looks at a clock."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from certs.authority import Authority
from certs.credentials import Credentials
from certs.names import Names

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
SERVICE = Names.of_service("modelgate", "modelgate-system")


def ca() -> Authority:
    return Authority.create(NOW)


def signed_by(key, *, ca: bool, usage: bool = True, days: int = 1) -> Credentials:
    """A CA as others make it: no key identifier, another kind of key."""
    subject = x509.Name.from_rfc4514_string("CN=other")
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 7, NOW - DAY, NOW + days * DAY)
    builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if usage:
        bits = dict.fromkeys(KEY_USAGES, False) | {"key_cert_sign": ca, "digital_signature": True}
        builder = builder.add_extension(x509.KeyUsage(**bits), critical=True)
    algorithm = None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    pem = builder.sign(key, algorithm).public_bytes(serialization.Encoding.PEM)
    return Credentials(pem, private(key), pem)


KEY_USAGES = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def private(key, encryption=None) -> bytes:
    encryption = encryption or serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
