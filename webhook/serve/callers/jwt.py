"""Signed tokens (JWT, RFC 7519): parts, signature and time, with the keys of an issuer (JWKS, RFC 7517).

Only what kube-apiserver signs with: RS256, and ES256, ES384 or ES512 by the curve of the key. The key decides on the
algorithm, never the token.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final, TypeGuard

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

PublicKey = rsa.RSAPublicKey | ec.EllipticCurvePublicKey

TOKEN_LIMIT: Final = 16 * 1024
"""Bytes of a token: ten times a token of kube-apiserver."""

_CURVES: Final[dict[str, tuple[type[ec.EllipticCurve], str]]] = {
    "P-256": (ec.SECP256R1, "ES256"),
    "P-384": (ec.SECP384R1, "ES384"),
    "P-521": (ec.SECP521R1, "ES512"),
}
_HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    "RS256": hashes.SHA256(),
    "ES256": hashes.SHA256(),
    "ES384": hashes.SHA384(),
    "ES512": hashes.SHA512(),
}


class InvalidToken(ValueError):
    """The token is not a JWT, or its signature or time is wrong."""


class UnknownKey(InvalidToken):
    """No key of the issuer has the token's key id; the issuer may have a new key."""


def keys_of(jwks: Mapping[str, Any]) -> dict[str, tuple[str, PublicKey]]:
    """The keys of a JWKS by key id, each with its algorithm; keys of other kinds are left out.

    Raises:
        ValueError: a key is malformed.
    """
    found: dict[str, tuple[str, PublicKey]] = {}
    for key in jwks.get("keys", ()):
        if key.get("kty") == "RSA":
            numbers = rsa.RSAPublicNumbers(_number(key["e"]), _number(key["n"]))
            found[key.get("kid", "")] = ("RS256", numbers.public_key())
        elif key.get("kty") == "EC" and key.get("crv") in _CURVES:
            curve, algorithm = _CURVES[key["crv"]]
            point = ec.EllipticCurvePublicNumbers(_number(key["x"]), _number(key["y"]), curve())
            found[key.get("kid", "")] = (algorithm, point.public_key())
    return found


def verified(token: str, keys: Mapping[str, tuple[str, PublicKey]], now: float) -> dict[str, Any]:
    """The claims of a token.

    Raises:
        UnknownKey: no key has its key id.
        InvalidToken: it is malformed, has a wrong signature, is expired or not valid yet.
    """
    if len(token) > TOKEN_LIMIT or token.count(".") != 2:
        raise InvalidToken("the token is not a JWT")
    signed, _, signature = token.rpartition(".")
    header, claims = (_object(part) for part in signed.split("."))
    known = keys.get(str(header.get("kid", "")))
    if known is None:
        raise UnknownKey("the token is signed with a key that the API server does not publish")
    algorithm, key = known
    if header.get("alg") != algorithm:
        raise InvalidToken(f"the token must be signed with {algorithm}")
    try:
        _check_signature(key, _HASHES[algorithm], _bytes(signature), signed.encode())
    except InvalidSignature:
        raise InvalidToken("the signature of the token is wrong") from None
    _check_time(claims, now)
    return claims


def _check_signature(key: PublicKey, algorithm: hashes.HashAlgorithm, signature: bytes, signed: bytes) -> None:
    if isinstance(key, rsa.RSAPublicKey):
        key.verify(signature, signed, padding.PKCS1v15(), algorithm)
        return
    size = (key.curve.key_size + 7) // 8
    if len(signature) != 2 * size:
        raise InvalidSignature
    r, s = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
    key.verify(encode_dss_signature(r, s), signed, ec.ECDSA(algorithm))


def _check_time(claims: Mapping[str, Any], now: float) -> None:
    expires, begins = claims.get("exp"), claims.get("nbf", 0)
    if not _is_number(expires) or not _is_number(begins):
        raise InvalidToken("the token states no time of expiry")
    if now >= expires:
        raise InvalidToken("the token is expired")
    if now + 60 < begins:  # clocks differ by seconds
        raise InvalidToken("the token is not valid yet")


def _is_number(claim: object) -> TypeGuard[float]:
    return isinstance(claim, int | float) and not isinstance(claim, bool)


def _object(part: str) -> dict[str, Any]:
    try:
        found = orjson.loads(_bytes(part))
    except orjson.JSONDecodeError:
        raise InvalidToken("the token is not a JWT") from None
    if not isinstance(found, dict):
        raise InvalidToken("the token is not a JWT")
    return found


def _bytes(part: str) -> bytes:
    try:
        return base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise InvalidToken("the token is not a JWT") from None


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))
