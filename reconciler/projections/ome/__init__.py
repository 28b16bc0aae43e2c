"""OME: inference services, benchmark jobs and base models."""

from __future__ import annotations

from reconciler.projection import Controller
from reconciler.projections.ome import benchmarks, models, services
from reconciler.projections.ome.models import Reports
from webhook.facts.settings import Settings

__all__ = ["controllers"]


def controllers(settings: Settings, reports: Reports) -> list[Controller]:
    """Those of the kinds that are acted for; ``reports`` are what the agents of the nodes say."""
    return [services.controller(settings), benchmarks.controller(settings), *models.controllers(reports)]
