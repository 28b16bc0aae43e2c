"""A certificate with its key and its CA bundle: the content of a ``kubernetes.io/tls`` Secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from certs.errors import AuthorityError

TLS_CRT = "tls.crt"
TLS_KEY = "tls.key"
CA_CRT = "ca.crt"

# Bytes. These files have less than 1 KiB each and a bundle holds two; a public root store has 200 KiB. A larger file is
# a mistake, and would be copied into every webhook configuration.
_LARGEST = 64 * 1024


@dataclass(frozen=True, slots=True)
class Credentials:
    """Three PEM texts: ``tls.crt``, ``tls.key`` and ``ca.crt``, the bundle for clients."""

    certificate: bytes
    key: bytes = field(repr=False)  # a traceback or a log line must not hold it
    authorities: bytes

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Credentials:
        """Take the three files by name; raises AuthorityError for a missing or too large one."""
        for name in (TLS_CRT, TLS_KEY, CA_CRT):
            if not files.get(name):
                raise AuthorityError(f"{name} is missing or empty")
            if len(files[name]) > _LARGEST:
                raise AuthorityError(f"{name} has {len(files[name])} bytes; the limit is {_LARGEST}")
        return cls(files[TLS_CRT], files[TLS_KEY], files[CA_CRT])

    def files(self) -> dict[str, bytes]:
        return {TLS_CRT: self.certificate, TLS_KEY: self.key, CA_CRT: self.authorities}
