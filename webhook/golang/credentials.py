"""Hide credentials in texts: messages quote what users write, and conditions, replies and logs have many readers.

Go's ``URL.Redacted`` hides the password of a URL. Here the name, signatures in queries and well-known tokens are
hidden, too, wherever they stand in a text, also in values that Go or JSON have quoted. Only what looks like a
credential changes.
"""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "***"

_END: Final = r"""(?:[^\s&#"'\\]|\\(?!u0026|["nrt]))"""
"""A character of a query's value. In a quoted text, ``&`` may be ``\\u0026``, and a backslash may escape the quote."""

_NAMES: Final = r"(?:token|sig|signature|secret|passw(?:or)?d|pwd|key|key-?id|auth|credentials?|jwt)"
_ALONE: Final = r"(?:token|secret|passw(?:or)?d|pwd|(?:api|access|secret|private)[_-]?key|credentials?|jwt)"
"""Names that need no query around them."""
_WORDS: Final = (
    "api|cache|chat|cli|config|datasets?|endpoint|format|home|hub|inference|local|model|olmo|overrides|pipeline"
    "|processor|quantizer|repo|space|token|tokenizer|transfer|user|weights|xet"
)
"""What comes after ``hf_`` in names of settings, libraries and arguments."""
_USER: Final = r"""(?:[^\s/\\?#"'<>]+@|[^\s/\\?#"'<>:@]*:(?!\d*…)[^\s/\\?#"'<>@]*(?=…))"""
"""A name and password before a host, where a backslash ends the host."""

# Texts of which one is in every text that the pattern matches; the pattern; what remains. A run of characters is never
# matched from two starts, so the time grows with the length of the text.
_FORMS: Final[tuple[tuple[tuple[str, ...], re.Pattern[str], str], ...]] = (
    # The name and password of a URL; also where the URL is cut before the "@".
    (("://",), re.compile(r"""(://)(?:[^\s/?#"'<>]+@|[^\s/?#"'<>:@]*:(?!\d*…)[^\s/?#"'<>@]*(?=…))"""), rf"\1{HIDDEN}@"),
    # The same with backslashes or one slash, which browsers read as two slashes.
    ((":\\", ":/"), re.compile(rf"(?i)((?:\bhttps?:[\\/]|:[\\/]\\|:\\[\\/])[\\/]*+){_USER}"), rf"\1{HIDDEN}@"),
    # The value of a query or fragment: token=, X-Amz-Signature=, AWSAccessKeyId=, sig=.
    (("=",), re.compile(rf"(?i)((?:[?&;#]|\\u0026)[\w.%-]*{_NAMES}=){_END}+"), rf"\1{HIDDEN}"),
    # A setting: password=, --api-key=, HF_TOKEN="…". A quote that ends a text of JSON begins no value.
    (
        ("=",),
        re.compile(rf"""(?i)(?<![\w.%-])((?:[\w.%-]*[_.%-])?{_ALONE}=)(?:\\?["'](?![\s,}}\]:])[^"'\\]+|{_END}+)"""),
        rf"\1{HIDDEN}",
    ),
    # Tokens that are known by how they start.
    (
        ("hf_",),
        re.compile(
            r"(?<![^\W_])(hf_)(?:[A-Za-z0-9]{16,}|(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{6,}"
            rf"|(?!(?:{_WORDS})\b)[A-Za-z0-9]{{3,15}}(?!\w))"
        ),
        rf"\1{HIDDEN}",
    ),
    (
        ("gho_", "ghp_", "ghr_", "ghs_", "ghu_", "github_pat_"),
        re.compile(r"(?<![^\W_])(gh[oprsu]_|github_pat_)\w{16,}"),
        rf"\1{HIDDEN}",
    ),
    (("glpat-", "nvapi-", "xox", "sk-"), re.compile(r"(?<!\w)(glpat-|nvapi-|xox[a-z]-|sk-)[\w-]{16,}"), rf"\1{HIDDEN}"),
    (("AKIA", "ASIA"), re.compile(r"(?<!\w)(A[KS]IA)[A-Z0-9]{16}(?!\w)"), rf"\1{HIDDEN}"),
    (("eyJ",), re.compile(r"(?<![\w-])(eyJ)[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"), rf"\1{HIDDEN}"),
    # "Authorization: Bearer …"; words have no digits.
    (
        ("earer ", "asic "),
        re.compile(r"\b([Bb]earer|[Bb]asic) (?=[A-Za-z._~+/-]*[0-9=])[\w.~+/=-]{8,}"),
        rf"\1 {HIDDEN}",
    ),
    (("PRIVATE KEY",), re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]*"), rf"\1{HIDDEN}"),
    # An item of env, and a field, in an object that the API server prints as JSON.
    (
        ('"value":',),
        re.compile(
            r'(?i)("name":"(?=\w*?(?:TOKEN|SECRET|PASSWORD|API_?KEY|ACCESS_?KEY))\w*+","value":")(?:[^"\\]|\\.)+'
        ),
        rf"\1{HIDDEN}",
    ),
    (
        ('":"',),
        re.compile(r'(?i)("[\w.-]*(?:password|token|api[_-]?key|secret[_-]?key|access[_-]?key)":")(?:[^"\\]|\\.)+'),
        rf"\1{HIDDEN}",
    ),
)


def masked(text: str) -> str:
    """The text with ``***`` in place of what looks like a credential: ``https://***@example.com/m?token=***``."""
    if (  # most texts have no sign, or part of one; a loop would take longer than these searches
        "_" not in text
        and "=" not in text
        and ":/" not in text
        and ":\\" not in text
        and '":' not in text
        and "eyJ" not in text
        and "earer " not in text
        and "asic " not in text
        and "IA" not in text
        and "E KEY" not in text
        and ("-" not in text or not ("sk-" in text or "xox" in text or "glpat-" in text or "nvapi-" in text))
    ):
        return text
    for signs, pattern, remains in _FORMS:
        for sign in signs:  # a generator would take longer than all searches of a usual text
            if sign in text:
                text = pattern.sub(remains, text)
                break
    return text
