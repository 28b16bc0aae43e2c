"""Credentials in texts: what is hidden, what stays, and that the time is linear."""

from __future__ import annotations

import re

import pytest

from webhook.golang import credentials
from webhook.golang.credentials import _FORMS, masked

TOKEN = "hf_" + "aB3dE5gH7j" * 3
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"

HIDDEN = {
    "https://ann:secret@example.com/m.gguf": "https://***@example.com/m.gguf",
    "https://ghp@example.com/m": "https://***@example.com/m",
    "s3://id:p@ss@bucket/m": "s3://***@bucket/m",
    '"https://ann:secret@example.com": use https': '"https://***@example.com": use https',
    "https://ann:secr…": "https://***@…",
    "two: http://a:b@c and http://d:e@f": "two: http://***@c and http://***@f",
    "https://h/m?token=abc": "https://h/m?token=***",
    "https://h/m?a=b&token=abc&c=d#e": "https://h/m?a=b&token=***&c=d#e",
    r'{"source":"https://h/m?a=b\u0026X-Amz-Signature=abc\u0026c=d"}': (
        r'{"source":"https://h/m?a=b\u0026X-Amz-Signature=***\u0026c=d"}'
    ),
    "https://h/m?AWSAccessKeyId=abc&Signature=d%2Fe&Expires=1": "https://h/m?AWSAccessKeyId=***&Signature=***&Expires=1",
    "https://h/m?sv=2022&sig=abc%3D": "https://h/m?sv=2022&sig=***",
    "https://h/m?api_key=abc": "https://h/m?api_key=***",
    "https://h/cb#access_token=zz": "https://h/cb#access_token=***",
    "https://h/cb#state=a&id_token=zz": "https://h/cb#state=a&id_token=***",
    "password=hunter2": "password=***",
    "run with DB_PASSWORD=hunter2 --api-key=abc": "run with DB_PASSWORD=*** --api-key=***",
    'password="hunter two"': 'password=***"',
    r'{"a":"password=\"hunter\" b","c":"d"}': r'{"a":"password=***\" b","c":"d"}',
    r"https:\\u:p@h": r"https:\\***@h",
    r'"https:\\\\u:p@h/m": use': r'"https:\\\\***@h/m": use',
    r"https:/\u:p@h": r"https:/\***@h",
    "https:/u:p@h": "https:/***@h",
    r"https:\\u:secr…": r"https:\\***@…",
    "hf_abc": "hf_***",
    'Invalid value: "hf_abc"': 'Invalid value: "hf_***"',
    f"{TOKEN} is not a name": "hf_*** is not a name",
    f'Invalid value: "{TOKEN}"': 'Invalid value: "hf_***"',
    "hf_Abc123": "hf_***",
    "ghp_0123456789abcdefghij": "ghp_***",
    "sk-proj-0123456789abcdef": "sk-***",
    "AKIA0123456789ABCDEF": "AKIA***",
    **{f"{start}0123456789abcdefghij": f"{start}***" for start in ("gho_", "ghr_", "ghs_", "ghu_", "github_pat_")},
    **{f"{start}0123456789abcdefghij": f"{start}***" for start in ("glpat-", "nvapi-", "xoxb-")},
    "ASIA0123456789ABCDEF": "ASIA***",
    JWT: "eyJ***",
    "basic abcdefgh12": "basic ***",
    "Authorization: Bearer abcdefgh12": "Authorization: Bearer ***",
    '{"name":"HF_TOKEN","value":"a \\" b"}': '{"name":"HF_TOKEN","value":"***"}',
    '{"password":"abc","user":"ann"}': '{"password":"***","user":"ann"}',
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----": (
        "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"
    ),
}
STAYS = [
    "",
    "https://example.com:8080/m.gguf",
    "pvc://@/m.gguf",
    "https://example.com:8080…",
    "https://example.com/ann@home?ref=main",
    "pvc://claim/models/llama.gguf",
    "hf://org/model",
    "hf_transfer",
    "hf_hub_download",
    "hf_config_path",
    '{"a":"password=","b":"token="}',
    "tokens=5",
    "keys=a",
    r"C:\Users\ann",
    "file:/ann@home",
    "registry:/image@sha256:abc",
    "hf_token",
    'Invalid value: "a=b": use one of a, b (LK201)',
    "maxTokens=5",
    "spec.tokenizer: Required value",
    '{"name":"MODE","value":"fast"}',
    '{"secretName":"hub"}',
    "sk-learn",
    "a bearer of news: basic functionality",
    "someone@example.com",
]


@pytest.mark.parametrize(("text", "shown"), HIDDEN.items())
def test_a_credential_is_hidden(text: str, shown: str):
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize("text", STAYS)
def test_another_text_stays(text: str):
    assert masked(text) == text


@pytest.mark.parametrize("sign", [sign for signs, _, _ in _FORMS for sign in signs])
def test_a_text_with_a_sign_is_searched(sign: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(credentials, "_FORMS", (((sign,), re.compile(re.escape(sign)), "***"),))
    assert masked(f"a {sign}- b") == "a ***- b"


REPEATED = [
    "://",
    "://a:",
    "://a@",
    ":/",
    ":\\",
    ":\\\\a",
    "https:/",
    "https:/a",
    "#token=",
    "password=",
    "_password",
    "password",
    "-",
    ".",
    "%",
    "password='",
    "?token=",
    "?a",
    "&",
    "token",
    r"\u0026",
    "\\",
    "hf_",
    "hf_a",
    "ghp_",
    "sk-",
    "eyJ",
    "eyJaaaaaaaa.",
    "Bearer ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    '"name":"',
    '"name":"TOKEN',
    '"TOKEN","value":"',
    '"password":"',
    '"token',
    "AKIA",
    "TOKEN",
    "PRIVATE KEY",
    "-eyJ-",
    "-hf_-",
]


ENDS = ["…", '":"', '"value":', "=", ".", "@"]


@pytest.mark.parametrize("start", ["", '"name":"', "-----BEGIN "])
@pytest.mark.parametrize("part", REPEATED)
def test_a_long_text_takes_time_that_grows_with_its_length(part: str, start: str):
    """A quadratic search of a text as long as a request would take many minutes."""
    for end in ENDS:
        masked(start + part * (300_000 // len(part)) + end)
