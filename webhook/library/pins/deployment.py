"""The operator's own Deployment: the tag of its image, its arguments and its variables."""

from __future__ import annotations

from typing import Final

from webhook.library.pins.collector import Collector, PlacedRelease
from webhook.library.pins.objects import items_at
from webhook.library.pins.operators import split_image
from webhook.library.pins.pin import release_of
from webhook.library.pins.settings import container_settings
from webhook.manifests.documents import Document

_CONTAINERS: Final = ("spec", "template", "spec", "containers")


def read_deployment(document: Document, collector: Collector) -> None:
    """Collect the pins of a Deployment: of each container that runs an operator."""
    for index, container in items_at(document.value, *_CONTAINERS):
        if api := collector.operators.of_image(container.get("image")):
            at = (*_CONTAINERS, index)
            release = PlacedRelease(release_of(split_image(container["image"]).tag), document, (*at, "image"))
            given = container_settings(collector.operators.packs[api], document, *at)
            collector.deploy(api, release, document, given=given, deployment="")
