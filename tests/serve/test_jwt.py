"""Signed tokens by themselves: their parts, their times to the second, and the keys by which they are checked."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.serve.test_tokens import NOW, RSA, claims, encoded, number, rsa_key, token
from webhook.serve.callers.jwt import InvalidToken, UnknownKey, keys_of, verified

KEYS = keys_of({"keys": [rsa_key()]})


def outcome(text: str, now: float = NOW, keys: Any = KEYS) -> str:
    try:
        verified(text, keys, now)
    except InvalidToken as error:
        return str(error)
    return ""


def test_a_token_is_valid_until_its_second_and_from_a_minute_before_it_begins() -> None:
    text = token(claims(exp=NOW + 1, nbf=NOW))
    assert outcome(text) == outcome(text, NOW + 0.5) == outcome(text, NOW - 60) == ""
    assert outcome(text, NOW + 1) == "the token is expired"
    assert outcome(text, NOW - 60.5) == "the token is not valid yet"


@pytest.mark.parametrize("claim", ["exp", "nbf"])
@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_a_time_is_a_number(claim: str, value: object) -> None:
    assert outcome(token(claims(**{claim: value}))) == "the token states no time of expiry"


def test_a_token_of_exactly_the_limit_is_read() -> None:
    about = (16 * 1024 - len(token(claims(padding="")))) * 3 // 4
    made = (
        token(claims(padding="a" * length), more="b" * more) for length in range(about - 24, about) for more in range(3)
    )
    sized = {len(text): text for text in made}
    assert outcome(sized[16 * 1024]) == ""
    assert outcome(sized[16 * 1024 + 1]) == "the token is not a JWT"


def test_the_key_decides_on_the_algorithm_and_an_unknown_one_is_told_apart() -> None:
    with pytest.raises(UnknownKey, match="a key that the API server does not publish"):
        verified(token(claims(), kid="k2"), KEYS, NOW)
    for header in ({"alg": "ES256"}, {"alg": "none"}, {"alg": ""}):
        assert outcome(token(claims(), **header)) == "the token must be signed with RS256"
    head, body, _ = token(claims()).split(".")
    assert outcome(f"{head}.{body}.") == "the signature of the token is wrong"
    junk = outcome(f"{head}.{body}.a"), outcome(f"{token(claims())}****")
    assert junk == ("the token is not a JWT",) * 2
    assert outcome(f"{head}.{body}") == outcome(f"{head}.{body}.a.b") == "the token is not a JWT"


@pytest.mark.parametrize("bad", ["a+b/", "a b", "a=b", "ä", "a"])
def test_only_the_alphabet_of_addresses_is_read(bad: str) -> None:
    head, _, signature = token(claims()).split(".")
    assert outcome(f"{head}.{bad}.{signature}") == "the token is not a JWT"


def test_a_key_without_a_name_is_that_of_tokens_without_one() -> None:
    nameless = {key: value for key, value in rsa_key().items() if key != "kid"}
    keys = keys_of({"keys": [nameless, {"kty": "EC", "crv": "P-256", **point(ec.SECP256R1()), "kid": "e"}]})
    assert {kid: algorithm for kid, (algorithm, _) in keys.items()} == {"": "RS256", "e": "ES256"}
    signed = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "RS256"}, claims()))
    assert outcome(f"{signed}.{encoded(b'x' * 256)}", keys=keys) == "the signature of the token is wrong"
    assert outcome(f"{signed}.{encoded(b'x' * 256)}").startswith("the token is signed with a key")
    curve = keys_of({"keys": [{"kty": "EC", "crv": "P-256", **point(ec.SECP256R1())}]})
    assert [*curve] == [""]
    assert keys_of({}) == {}


def test_a_signature_by_a_curve_has_one_length() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    signed = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "ES256", "kid": "e"}, claims()))
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    keys = {"e": ("ES256", key.public_key())}
    assert outcome(f"{signed}.{encoded(r.to_bytes(32) + s.to_bytes(32))}", keys=keys) == ""
    for longer in (r.to_bytes(32) + s.to_bytes(33), r.to_bytes(32) + s.to_bytes(32) + b"\0"):
        assert outcome(f"{signed}.{encoded(longer)}", keys=keys) == "the signature of the token is wrong"


def point(curve: ec.EllipticCurve) -> dict[str, str]:
    numbers = ec.generate_private_key(curve).public_key().public_numbers()
    size = (curve.key_size + 7) // 8
    return {"x": encoded(numbers.x.to_bytes(size)), "y": encoded(numbers.y.to_bytes(size))}


def test_numbers_of_keys_are_read_as_they_are_written() -> None:
    (_, key) = KEYS["k1"]
    assert key.public_numbers() == RSA.public_key().public_numbers()
    assert base64.urlsafe_b64decode(number(65537)) == b"\x01\x00\x01"
