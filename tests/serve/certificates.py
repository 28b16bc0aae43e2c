"""A CA and certificates for clients."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class ClientAuthority(NamedTuple):
    """A CA that issues client certificates into a folder."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    @classmethod
    def create(cls, folder: Path, name: str = "clients") -> "ClientAuthority":
        """A new CA; its certificate is ``NAME.crt`` in the folder."""
        made = cls(folder, ec.generate_private_key(ec.SECP256R1()), named(name))
        unsigned = builder(made.name, made.name, made.key).add_extension(x509.BasicConstraints(True, None), True)
        write(folder / f"{name}.crt", unsigned.sign(made.key, hashes.SHA256()))
        return made

    def client(self, name: str, *alternatives: str) -> tuple[Path, Path]:
        """The files of a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        unsigned = builder(named(name), self.name, key).add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), False
        )
        if alternatives:
            unsigned = unsigned.add_extension(x509.SubjectAlternativeName(map(x509.DNSName, alternatives)), False)
        certificate, private = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        write(certificate, unsigned.sign(self.key, hashes.SHA256()))
        form = serialization.PrivateFormat.PKCS8
        private.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return certificate, private


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
    )


def write(file: Path, certificate: x509.Certificate) -> None:
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
