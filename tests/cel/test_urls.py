import pytest

from tests.cel.calls import call, error
from webhook.cel.library.urls import to_url


@pytest.mark.parametrize(
    ("text", "scheme", "host", "hostname", "port", "path"),
    [
        ("https://example.com:80/", "https", "example.com:80", "example.com", "80", "/"),
        ("https://[::1]:80/", "https", "[::1]:80", "::1", "80", "/"),
        ("https://[fe80::1%25en0]/", "https", "[fe80::1%en0]", "fe80::1%en0", "", "/"),
        ("HTTPS://User:p@Example.com", "https", "Example.com", "Example.com", "", ""),
        ("/path with space/", "", "", "", "", "/path%20with%20space/"),
        ("/a%2Fb", "", "", "", "", "/a%2Fb"),
        ("/a b%2Fc", "", "", "", "", "/a%20b/c"),
        ("*", "", "", "", "", "*"),
        ("mailto:a@b", "mailto", "", "", "", ""),
        ("https:://kubernetes.io/", "https", "", "", "", ""),
        ("file:///etc", "file", "", "", "", "/etc"),
        ("ftp://h:80:80/", "ftp", "h:80:80", "h:80", "80", "/"),
        ("http://h/[a]?x#y z", "http", "h", "h", "", "/[a]"),
        ("http://h/%C3%BC#", "http", "h", "h", "", "/%C3%BC"),
    ],
)
def test_the_parts_of_a_url(text, scheme, host, hostname, port, path):
    url = call("url", text)
    names = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath")
    assert [call(name, url) for name in names] == [scheme, host, hostname, port, path]
    assert call("isURL", text) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty url"),
        ("a", "invalid URI for request"),
        (":x", "missing protocol scheme"),
        ("http://a\n", "net/url: invalid control character in URL"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://::1/", 'invalid port "::1" after host'),
        ("http://a:port/", 'invalid port ":port" after host'),
        ("http://h/%zz", 'invalid URL escape "%zz"'),
        ("http://h%41/", 'invalid URL escape "%41"'),
        ("http://h/%4\u00e9", 'invalid URL escape "%4\\xc3"'),
        ("http://[::1/", "missing ']' in host"),
        ("http://[1.2.3.4]/", "invalid IP-literal"),
        ("http://a[::1]/", "invalid IP-literal"),
        ("http://[x]/", 'invalid host: ParseAddr("x"): unable to parse IP'),
        ("http://us er@h/", "net/url: invalid userinfo"),
    ],
)
def test_invalid_urls(text, message):
    shown = text.replace("\n", "\\n")
    assert error("url", text) == f'URL parse error during conversion from string: parse "{shown}": {message}'
    assert call("isURL", text) is False


def test_the_query_keeps_repeated_keys_in_order_and_drops_malformed_ones():
    url = call("url", "http://h/?k1=a&k2=b&k2=c+d%2B&%zz=1&x;y=1&=e&&n#f")
    assert call("getQuery", url) == {"k1": ["a"], "k2": ["b", "c d+"], "": ["e"], "n": [""]}
    assert call("getQuery", call("url", "http://h/?" + "a&" * 10_000)) == {}


@pytest.mark.parametrize(
    "text",
    [
        "http://user:p%40ss@h:1/a%2Fb?q=1#f%20g",
        "mailto:a@b",
        "//host/path",
        "/a:b",
        "http://h/?",
        "file:/x",
        "http://h",
    ],
)
def test_a_url_prints_as_it_was_written(text):
    assert str(to_url(text)) == text


def test_equality_is_that_of_the_text():
    assert not call("_==_", to_url("http://A.b"), to_url("http://a.b"))
    assert call("_==_", to_url("HTTP://a.b"), to_url("http://a.b"))
