"""AIM: what the rules of its kinds may know beyond an object's text."""

from webhook.facts.aim.facts import FACTS
from webhook.facts.aim.health import template_cache
from webhook.facts.aim.knowledge import KNOWLEDGE
from webhook.facts.aim.lookup import DEFAULT_CONFIG, config_of, find, image_of
from webhook.facts.aim.resources import devices_of, gpu_model
from webhook.facts.aim.routing import render, route_of
from webhook.facts.aim.selection import Choice, select
from webhook.facts.aim.service import Resolved, resolve_service, rivals
from webhook.facts.aim.template import Origin, Resolution, resolve_template, same
from webhook.facts.nodes import Referent

__all__ = [
    "DEFAULT_CONFIG",
    "FACTS",
    "KNOWLEDGE",
    "Choice",
    "Origin",
    "Referent",
    "Resolution",
    "Resolved",
    "config_of",
    "devices_of",
    "find",
    "gpu_model",
    "image_of",
    "render",
    "resolve_service",
    "resolve_template",
    "rivals",
    "route_of",
    "same",
    "select",
    "template_cache",
]
