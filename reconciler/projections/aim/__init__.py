"""AIM: services, templates, images and caches."""

from __future__ import annotations

from reconciler.projection import Controller
from reconciler.projections.aim import caches, images, services, templates
from reconciler.projections.aim.discovery import Logs
from webhook.facts.settings import Settings

__all__ = ["controllers"]


def controllers(settings: Settings, logs: Logs) -> list[Controller]:
    """Those of all kinds that have a status."""
    return [
        *services.controllers(settings),
        *templates.controllers(settings, logs),
        *images.controllers(),
        *caches.controllers(),
    ]
