"""Operators by the names in their packs: of a Helm chart, of a repository, of an image."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from webhook.catalog import Pack
from webhook.library.pins.pin import Named, release_of

_ADDRESS: Final = r"[/:](%s)(?:\.git)?(?=[/?#]|$)(.*)"
_BETWEEN: Final = rb"(?<![\w.-])(?:%s)(?![\w-])"


class Image(NamedTuple):
    """An image: the last part of its name, and what is behind it: a tag, a digest, or both."""

    name: str
    tag: str


def split_image(image: str) -> Image:
    """The name and the tag of an image: ``ghcr.io/a/b:1.2@sha256:…`` → ``b`` and ``1.2@sha256:…``."""
    last = image.strip().rpartition("/")[2]
    name, mark, rest = last.partition("@")
    plain, _, tag = name.partition(":")
    return Image(plain, f"{tag}{mark}{rest}")


class Operators:
    """The operators of packs. An unknown name is that of no API: ""."""

    def __init__(self, packs: Mapping[str, Pack]) -> None:
        self.packs = packs
        self._charts = {name: api for api, pack in packs.items() for name in pack.charts}
        self._repositories = {name.lower(): api for api, pack in packs.items() for name in pack.repositories}
        owned = "|".join(map(re.escape, self._repositories))
        self._address = re.compile(_ADDRESS % owned, re.IGNORECASE) if owned else None
        images = (name for pack in packs.values() for name in pack.images)
        names = sorted({*self._charts, *images, *self._repositories})
        pattern = b"|".join(re.escape(name.encode()) for name in names)
        self._pattern = re.compile(_BETWEEN % pattern, re.IGNORECASE) if names else None

    def named_in(self, content: bytes) -> bool:
        """Whether a file may name an operator: it contains one of the names, not as a part of another word."""
        return self._pattern is not None and self._pattern.search(content) is not None

    def of_chart(self, chart: object) -> str:
        """The API of a chart: by its name, or by an address that ends with it."""
        return self._charts.get(split_image(chart).name, "") if isinstance(chart, str) else ""

    def of_image(self, image: object) -> str:
        return next((api for api, pack in self.packs.items() if isinstance(image, str) and pack.runs(image)), "")

    def of_repository(self, address: object) -> str:
        """The API of the address of a repository: ``https://github.com/a/b.git``, ``git@github.com:a/b``."""
        match = self._match(address)
        return self._repositories[match[1].lower()] if match and not match[2].strip("/") else ""

    def of_address(self, address: object) -> str:
        """The API of an address of something in a repository: of a file of a release, or a folder at a tag."""
        match = self._match(address)
        return self._repositories[match[1].lower()] if match else ""

    def _match(self, address: object) -> re.Match[str] | None:
        return self._address.search(address) if isinstance(address, str) and self._address else None

    def of_tag(self, api: str, written: object) -> Named:
        """The release that a tag of the operator's repository names; chart-releaser writes ``<chart>-<version>``."""
        if isinstance(written, str):
            for chart in self.packs[api].charts:
                if written.startswith(f"{chart}-"):
                    return self.of_chart_version(api, written.removeprefix(f"{chart}-"))
        return release_of(written)

    def of_chart_version(self, api: str, written: object) -> Named:
        """The release that a version of the chart installs."""
        named = release_of(written)
        releases = self.packs[api].appVersions
        if not named.release or not releases:
            return named
        release = releases.get(named.release, "")
        return Named(release, "" if release else f'the release in chart "{named.release}" is not known')
