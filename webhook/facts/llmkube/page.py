"""Addresses at Hugging Face's web site, which LLMKube takes for more than a URL from 0.9.13 on."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

__all__ = ["Page", "classify_page"]

_ADDRESS: Final = re.compile(r"https?://(?:www\.)?(?i:huggingface\.co)/([^?#]*)")
"""The host may be in any letter case, ``www.`` may not."""


class Page(StrEnum):
    """What an address names: a repository, one file of it, the page about a file, or none of them."""

    REPOSITORY = "repository"
    FILE = "file"
    BLOB = "blob"
    OTHER = "other"
    NONE = ""


def classify_page(source: str) -> Page:
    """Return what LLMKube 0.9.13 and later see in an address; ``NONE`` if it is not of this site.

    It downloads a blob as if it were a file. Of ``OTHER``, such as data sets, it makes neither a repository nor a file.
    """
    match = _ADDRESS.match(source)
    if match is None:
        return Page.NONE
    owner, name, view, *inner = [*filter(None, match[1].split("/")), "", "", ""]
    if view in {"resolve", "blob"} and len(inner) > 4:  # a revision, a path, and the three that are added
        return Page.FILE if view == "resolve" else Page.BLOB
    return Page.REPOSITORY if name and owner not in {"datasets", "spaces"} else Page.OTHER
