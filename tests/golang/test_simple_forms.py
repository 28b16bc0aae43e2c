"""What is read by a short way is read as by the long one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from webhook.golang import names, strconv, url
from webhook.golang.errors import GoError

PARTS = ["http", "https", "s3", "h+t.p-1", "1x", ":", "//", "/", "a.b", "A-_~", ":80", ":x", "%41", "é", "@", "?", "#"]
PARTS += ["$&+,;=", "'", "*", " ", "\n"]
TEXTS = st.lists(st.sampled_from(PARTS), max_size=7).map("".join)
URLS = TEXTS | st.builds("{}://{}{}".format, st.sampled_from(PARTS), st.sampled_from(PARTS), TEXTS)


def read(text: str, *, via_request: bool) -> url.ParsedURL | str:
    try:
        return url._parse(text.encode(errors="surrogatepass"), via_request=via_request)
    except GoError as error:
        return error.message


@given(URLS)
def test_a_simple_url_has_the_parts_that_the_parser_finds(text: str):
    simple = url._simple(text)
    if simple is not None:
        assert simple == read(text, via_request=True) == read(text, via_request=False)


def test_a_url_of_a_model_is_simple():
    for text in ("https://huggingface.co/org/m/resolve/main/m.Q4_K_M.gguf", "HTTP://h:80/a@b=c", "s3://bucket"):
        assert url._simple(text) is not None


PREFIXED = st.builds("{}/{}".format, st.text("a0-.", max_size=70), st.text("aA-_.", max_size=70))
KEYS = st.text("aZ09-_./", max_size=70) | PREFIXED


@given(KEYS)
def test_a_short_valid_key_is_a_label_key(text: str):
    short = names._is_qualified(text) is not None and len(text) <= 63
    *prefixes, name = text.split("/")
    fits = names._is_key(name) and len(name) <= 63 and all(names._is_subdomain(each) for each in prefixes)
    assert not short or (bool(fits) and len(prefixes) <= 1)
    assert (names.label_key(text) == []) == (bool(fits) and len(prefixes) <= 1)


@given(st.text("0123456789+-_ ٣²", max_size=25) | st.integers(-(2**64), 2**64).map(str))
def test_a_short_integer_is_the_number_that_its_digits_mean(text: str):
    try:
        value: int | None = strconv.parse_int(text)
    except GoError:
        value = None
    digits = text[1:] if text[:1] in ("+", "-") else text
    is_number = digits.isascii() and digits.isdigit()
    expected = int(text) if is_number and -(2**63) <= int(text) < 2**63 else None
    assert value == expected
