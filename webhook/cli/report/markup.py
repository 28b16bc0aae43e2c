"""What pages of HTML are made of: texts that are never markup, bars, and a document that loads nothing."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from html import escape
from pathlib import Path
from string import Template
from typing import Final

from webhook.cli.output import inert_xml, printable
from webhook.cli.shell.version import version
from webhook.golang.credentials import masked

_FOLDER: Final = Path(__file__).parent
_WIDTH: Final = 200
"""Characters of a line of source."""


def document(title: str, head: str, body: str, *, script: str = "") -> str:
    """A page with this title; ``head`` stands below it. ``script`` is the name of a file beside this one."""
    text = (_FOLDER / script).read_text(encoding="utf-8") if script else ""
    allowed = f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}" if text else "none"
    template = Template((_FOLDER / "page.html").read_text(encoding="utf-8"))
    header = f'<header><h1>{plain(title)}</h1><p class="soft">modelgate {plain(version())}</p>{head}</header>'
    whole = inert_xml(f"{header}\n<main>\n{body}\n</main>")
    element = f"<script>{text}</script>" if text else ""
    return template.substitute(title=plain(title), scripts=f"'{allowed}'", body=whole, script=element)


def plain(text: object) -> str:
    """A text as HTML on one line, in which control characters are escaped."""
    return escape(printable(str(text)))


def source_line(text: str) -> str:
    """A line of a file as HTML, with its spaces, and without credentials."""
    shown = masked(text[:_WIDTH].expandtabs(4))
    end = "…" if len(text) > _WIDTH else ""
    return escape("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in shown) + end)


def bar(share: float) -> str:
    """A bar that is full by this share; of more than 1, the part beyond the end is marked. A text says the number."""
    end = 100 / max(share, 1)
    parts = [
        ("all", 0.0, 100.0),
        ("full", 0.0, min(share, 1) * end),
        *([("over", end, 100 - end)] if share > 1 else []),
    ]
    drawn = "".join(f'<rect class="{name}" x="{x:.1f}" width="{width:.1f}" height="8"/>' for name, x, width in parts)
    return f'<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{drawn}</svg>'
