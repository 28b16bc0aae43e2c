"""Tokens of the API server (KEP-6060): signature, issuer, time, audience, attested API group, subject."""

import asyncio
import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from starlette.testclient import TestClient

from tests.serve.conftest import until
from tests.serve.test_app import a_review
from webhook.admission.errors import Unavailable
from webhook.catalog import Catalog, Kinds
from webhook.serve.app import application
from webhook.serve.callers import ClusterIssuer, Tokens, jwt, tokens_current
from webhook.serve.callers.tokens import REFRESH_SECONDS
from webhook.serve.gate import Gate
from webhook.serve.polling import Hangup

NOW = 1_800_000_000.0
ISSUER = "https://kubernetes.default.svc.cluster.local"
ADDRESS = "https://modelgate.modelgate-system.svc:443"
CALLER = "system:serviceaccount:kube-system:webhooks"
RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8))


def rsa_key(key: rsa.RSAPrivateKey = RSA, kid: str = "k1") -> dict[str, str]:
    public = key.public_key().public_numbers()
    return {"kty": "RSA", "kid": kid, "use": "sig", "alg": "RS256", "n": number(public.n), "e": number(public.e)}


def claims(**changes: Any) -> dict[str, Any]:
    webhook = {"attestations": {"admissionReviewAPIGroups": ["*"]}, "validatingwebhookconfiguration": {"name": "m"}}
    base = {"iss": ISSUER, "sub": CALLER, "aud": [f"{ADDRESS}/validate"], "exp": NOW + 600, "nbf": NOW}
    return {**base, "kubernetes.io": webhook, **changes}


def token(body: Mapping[str, Any], key: rsa.RSAPrivateKey = RSA, **header: str) -> str:
    signed = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "k1", **header}, body))
    return f"{signed}.{encoded(key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


class Published:
    """An issuer whose keys a test can replace."""

    def __init__(self, *keys: Mapping[str, str]) -> None:
        self.keys = list(keys)
        self.read_times = 0

    def read(self) -> tuple[str, Mapping[str, Any]]:
        self.read_times += 1
        if not self.keys:
            raise Unavailable("503 the API server is starting")
        return ISSUER, {"keys": self.keys}


@pytest.fixture
def issuer() -> Published:
    return Published(rsa_key())


@pytest.fixture
def tokens(issuer: Published) -> Tokens:
    found = Tokens(issuer, frozenset({ADDRESS}), clock=lambda: NOW)
    found.refresh()
    return found


@pytest.fixture
def client(tokens: Tokens) -> Iterator[TestClient]:
    gate = Gate(catalog=Catalog(Kinds({}), "digest"), needs=[tokens.unready])
    with TestClient(application(gate, callers=tokens), raise_server_exceptions=False) as client:
        yield client


def ask(client: TestClient, header: str | None, path: str = "/validate") -> tuple[int, str]:
    headers = {} if header is None else {"authorization": header}
    answer = client.post(path, json=a_review(), headers=headers)
    return answer.status_code, answer.text


def test_a_token_of_the_api_server_is_accepted(client: TestClient) -> None:
    for _ in range(2):
        assert ask(client, f"Bearer {token(claims())}")[0] == 200
    assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("header", "sentence"),
    [
        (None, "send one Authorization: Bearer header"),
        ("Basic eDp5", "send one Authorization: Bearer header"),
        ("Bearer ", "send one Authorization: Bearer header"),
        ("Bearer abc", "not a JWT"),
        ("Bearer a.b.c", "not a JWT"),
        ("Bearer " + "a" * 20_000, "not a JWT"),
        ("Bearer ..", "not a JWT"),
        ("Bearer ***.***.***", "not a JWT"),
        (f"Bearer {encoded(b'[]')}.{encoded(b'{}')}.", "not a JWT"),
        (f"Bearer {encoded(b'{')}.{encoded(b'{}')}.", "not a JWT"),
        (f"Bearer {token(claims())}.{encoded(b'{}')}", "not a JWT"),
        (f"Bearer {token(claims(padding='a' * 16_384))}", "not a JWT"),
        (f"Bearer {token(claims()).replace('.', '.*', 1)}", "not a JWT"),
        (f"Bearer {token(claims(), OTHER)}", "signature of the token is wrong"),
        (f"Bearer {token(claims(), alg='none')}", "must be signed with RS256"),
        (f"Bearer {token(claims(), alg='HS256')}", "must be signed with RS256"),
        (f"Bearer {token(claims(exp=NOW))}", "expired"),
        (f"Bearer {token(claims(exp='never'))}", "no time of expiry"),
        (f"Bearer {token(claims(nbf=NOW + 600))}", "not valid yet"),
        (f"Bearer {token(claims(nbf=NOW + 61))}", "not valid yet"),
        (f"Bearer {token(claims(iss='https://other'))}", f"not issued by {ISSUER}"),
    ],
)
def test_a_caller_without_a_valid_token_is_told_what_is_wrong(
    client: TestClient, header: str | None, sentence: str
) -> None:
    status, text = ask(client, header)
    assert (status, sentence in text) == (401, True), text


@pytest.mark.parametrize("begins", [{"nbf": NOW + 60}, {"nbf": 0.5}, {"nbf": None}], ids=str)
def test_clocks_may_differ_by_a_minute_and_a_token_need_not_say_when_it_begins(
    client: TestClient, begins: dict[str, Any]
) -> None:
    body = {name: claim for name, claim in claims(**begins).items() if claim is not None}
    assert ask(client, f"Bearer {token(body)}")[0] == 200


def test_an_audience_may_stand_alone(client: TestClient) -> None:
    assert ask(client, f"Bearer {token(claims(aud=f'{ADDRESS}/validate'))}")[0] == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": [f"{ADDRESS}/mutate"]},
        {"aud": ["https://kubernetes.default.svc"]},
        {"aud": None},
        {"aud": f"{ADDRESS}/"},
    ],
)
def test_a_token_for_another_audience_is_refused(client: TestClient, changes: dict[str, Any]) -> None:
    status, text = ask(client, f"Bearer {token(claims(**changes))}")
    assert (status, f"expected {ADDRESS}/validate" in text) == (403, True)


def test_a_token_attests_an_api_group(client: TestClient) -> None:
    for group, status in (("apps", 200), ("batch", 403)):
        body = claims(**{"kubernetes.io": {"attestations": {"admissionReviewAPIGroups": [group]}}})
        assert ask(client, f"Bearer {token(body)}")[0] == status
        answer = client.post("/validate", content=b"{", headers={"authorization": f"Bearer {token(body)}"})
        assert answer.status_code == 415
    for malformed in ("*", {"*": "*"}, [], [7]):
        body = claims(**{"kubernetes.io": {"attestations": {"admissionReviewAPIGroups": malformed}}})
        assert ask(client, f"Bearer {token(body)}")[0] == 403


def test_the_token_of_any_pod_is_refused_unless_its_subject_is_named(client: TestClient, tokens: Tokens) -> None:
    ordinary = f"Bearer {token(claims(**{'kubernetes.io': {'namespace': 'team'}}))}"
    assert ask(client, ordinary)[0] == 403
    tokens.names = frozenset({CALLER})
    assert ask(client, ordinary)[0] == 200
    assert (
        ask(client, f"Bearer {token(claims(sub='system:serviceaccount:team:any', **{'kubernetes.io': {}}))}")[0] == 403
    )


def test_a_new_key_is_read_at_once_but_strangers_cannot_make_the_gate_read_again_and_again(
    client: TestClient, issuer: Published
) -> None:
    issuer.keys.append(rsa_key(OTHER, "k2"))
    assert ask(client, f"Bearer {token(claims(), OTHER, kid='k2')}")[0] == 200
    assert issuer.read_times == 2
    for _ in range(3):
        status, text = ask(client, f"Bearer {token(claims(), OTHER, kid='k3')}")
        assert (status, "does not publish" in text) == (401, True)
    assert issuer.read_times == 2


def test_before_the_keys_are_read_the_gate_is_not_ready(issuer: Published) -> None:
    keys, issuer.keys = issuer.keys, []
    tokens = Tokens(issuer, frozenset({ADDRESS}), clock=lambda: NOW)
    tokens.refresh()
    gate = Gate(catalog=Catalog(Kinds({}), "digest"), needs=[tokens.unready])
    with TestClient(application(gate, callers=tokens)) as client:
        assert "cannot be read: 503 the API server is starting" in client.get("/readyz").text
        assert ask(client, f"Bearer {token(claims())}")[0] == 503
        issuer.keys = keys
        tokens.refresh()
        assert ask(client, f"Bearer {token(claims())}")[0] == 200
        issuer.keys = []
        tokens.refresh()
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize(
    ("curve", "algorithm", "digest"),
    [("P-256", "ES256", hashes.SHA256()), ("P-384", "ES384", hashes.SHA384()), ("P-521", "ES512", hashes.SHA512())],
)
def test_keys_on_curves_are_understood(curve: str, algorithm: str, digest: hashes.HashAlgorithm) -> None:
    key = ec.generate_private_key(CURVES[curve])
    size = (key.curve.key_size + 7) // 8
    point = key.public_key().public_numbers()
    x, y = (encoded(each.to_bytes(size)) for each in (point.x, point.y))
    tokens = Tokens(
        Published({"kty": "EC", "kid": "e", "crv": curve, "x": x, "y": y}), frozenset({ADDRESS}), clock=lambda: NOW
    )
    tokens.refresh()
    signed = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": algorithm, "kid": "e"}, claims()))
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(digest)))
    with TestClient(application(Gate(catalog=Catalog(Kinds({}), "digest")), callers=tokens)) as client:
        assert ask(client, f"Bearer {signed}.{encoded(r.to_bytes(size) + s.to_bytes(size))}")[0] == 200
        assert ask(client, f"Bearer {signed}.{encoded(s.to_bytes(size) + r.to_bytes(size))}")[0] == 401
        assert ask(client, f"Bearer {signed}.{encoded(b'short')}")[0] == 401


def test_a_remembered_token_is_refused_once_its_key_is_withdrawn(client: TestClient, tokens: Tokens) -> None:
    lasting = f"Bearer {token(claims(exp=1e308))}"
    assert ask(client, lasting)[0] == 200
    assert isinstance(tokens.issuer, Published)
    tokens.issuer.keys = [rsa_key(OTHER, "k2")]
    tokens.refresh()
    assert ask(client, lasting)[0] == 401


def test_a_token_without_an_end_is_verified_again_after_a_while(
    client: TestClient, tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = []
    monkeypatch.setattr(
        "webhook.serve.callers.tokens.verified", lambda *arguments: times.append(1) or jwt.verified(*arguments)
    )
    lasting = f"Bearer {token(claims(exp=1e308))}"
    for seconds in (0, 1, REFRESH_SECONDS + 1):
        tokens.clock = lambda seconds=seconds: NOW + seconds
        assert ask(client, lasting)[0] == 200
    assert len(times) == 2


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"aud": [[f"{ADDRESS}/validate"]]}, 403),
        ({"aud": [{}, f"{ADDRESS}/validate"]}, 200),
        ({"aud": {f"{ADDRESS}/validate": 1}}, 403),
        ({"aud": None}, 403),
        ({"sub": [CALLER], "kubernetes.io": {}}, 403),
        ({"sub": {CALLER: 1}, "kubernetes.io": []}, 403),
        ({"iss": [ISSUER]}, 401),
        ({"exp": True}, 401),
        ({"nbf": True}, 401),
        ({"nbf": [NOW]}, 401),
        ({"kubernetes.io": {"attestations": {"admissionReviewAPIGroups": [["*"], {}]}}}, 403),
    ],
)
def test_a_claim_of_another_type_is_refused_and_no_fault(
    client: TestClient, tokens: Tokens, changes: dict[str, Any], status: int
) -> None:
    tokens.names = frozenset({CALLER})
    found, text = ask(client, f"Bearer {token(claims(**changes))}")
    assert (found, "internal fault" in text) == (status, False)


@pytest.mark.parametrize(
    "keys",
    [[1], ["k"], {"k": 1}, 5, [{"kty": "RSA", "n": 1, "e": 2}], [{"kty": "RSA"}], [{"kty": "RSA", "n": "*", "e": "*"}]],
)
def test_malformed_keys_are_reported_once_and_the_known_ones_stay(
    keys: Any, tokens: Tokens, caplog: pytest.LogCaptureFixture
) -> None:
    assert isinstance(tokens.issuer, Published)
    tokens.issuer.keys = keys
    for _ in range(2):
        tokens.refresh()
        assert len(caplog.records) == 1
    assert tokens.unready() == []
    (record,) = caplog.records
    assert "the keys of the API server's tokens cannot be read: " in record.getMessage()


def test_keys_of_other_kinds_are_left_out() -> None:
    others = [{"kty": "oct", "kid": "o"}, {"kty": "EC", "kid": "e", "crv": "secp256k1"}, {"kty": "OKP", "crv": "P-256"}]
    assert jwt.keys_of({"keys": [*others, rsa_key()]}).keys() == {"k1"}


def test_a_hundred_tokens_are_remembered(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    times = []
    monkeypatch.setattr(
        "webhook.serve.callers.tokens.verified", lambda *arguments: times.append(1) or jwt.verified(*arguments)
    )
    for number, verifications in (*zip(range(100), range(1, 101), strict=True), (0, 100), (100, 101), (0, 102)):
        assert ask(client, f"Bearer {token(claims(jti=number))}")[0] == 200
        assert len(times) == verifications


def test_a_remembered_token_ends_with_its_second(client: TestClient, tokens: Tokens) -> None:
    ending = f"Bearer {token(claims(exp=NOW + 10))}"
    for seconds, status in ((0, 200), (9.5, 200), (10, 401)):
        tokens.clock = lambda seconds=seconds: NOW + seconds
        assert ask(client, ending)[0] == status


def test_a_key_that_strangers_name_is_looked_for_every_five_seconds(
    client: TestClient, tokens: Tokens, issuer: Published
) -> None:
    for seconds, times in ((0, 2), (4.5, 2), (5, 3)):
        tokens.clock = lambda seconds=seconds: NOW + seconds
        ask(client, f"Bearer {token(claims(), OTHER, kid='k3')}")
        assert issuer.read_times == times


def scope_of(header: str) -> dict[str, Any]:
    return {"type": "http", "path": "/validate", "headers": [(b"authorization", header.encode())]}


def test_without_waiting_only_a_remembered_token_is_admitted(tokens: Tokens) -> None:
    scope = scope_of(f"Bearer {token(claims())}")
    assert tokens.admitted(scope) is tokens.admitted(scope_of("Basic a")) is None
    assert asyncio.run(tokens.admit(scope)) == tokens.admitted(scope) == {"*"}
    assert tokens.admitted({**scope, "path": "/mutate"}) is None


def test_the_keys_are_read_again_and_again_until_they_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.serve.callers.tokens.RETRY_SECONDS", 0.01)
    issuer = Published()

    async def main() -> int:
        waiting = Tokens(issuer, frozenset({ADDRESS}), clock=lambda: NOW)
        async with tokens_current(waiting, Hangup()):
            await asyncio.to_thread(until, lambda: issuer.read_times > 2, "it is read again")
            issuer.keys = [rsa_key()]
            await asyncio.to_thread(until, lambda: not waiting.unready(), "the keys are there")
        return len(asyncio.all_tasks())

    assert asyncio.run(main()) == 1, "it leaves no task behind"


def test_between_two_attempts_nothing_is_read_and_leaving_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    issuer = Published()

    async def main() -> tuple[int, int, bool]:
        async with asyncio.timeout(60) as limit, tokens_current(Tokens(issuer, frozenset({ADDRESS})), Hangup()):
            await asyncio.to_thread(until, lambda: issuer.read_times > 0, "it is read")
            for _ in range(20):
                await asyncio.sleep(0.01)
        return issuer.read_times, len(asyncio.all_tasks()), limit.expired()

    monkeypatch.setattr("webhook.serve.callers.tokens.RETRY_SECONDS", 3600)
    assert asyncio.run(main()) == (1, 1, False)


def test_the_api_server_is_connected_once_and_when_its_keys_are_first_read(
    issuer: Published, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connected: list[Path] = []
    monkeypatch.setattr("webhook.cluster.connection.issuer", lambda path: connected.append(path) or issuer)
    cluster = ClusterIssuer(tmp_path)
    assert connected == []
    assert cluster.read() == cluster.read() == (ISSUER, {"keys": issuer.keys})
    assert connected == [tmp_path]
