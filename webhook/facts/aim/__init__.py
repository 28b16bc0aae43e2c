"""AIM: what the rules of its kinds may know beyond an object's text."""

from webhook.facts.aim.facts import FACTS
from webhook.facts.aim.gpus import gpu_model
from webhook.facts.aim.lookup import Found, find
from webhook.facts.aim.routetemplate import render
from webhook.facts.aim.selection import Choice, select
from webhook.facts.aim.service import Resolved, resolve_service
from webhook.facts.aim.template import Origin, Resolution, resolve_template

__all__ = [
    "FACTS",
    "Choice",
    "Found",
    "Origin",
    "Resolution",
    "Resolved",
    "find",
    "gpu_model",
    "render",
    "resolve_service",
    "resolve_template",
    "select",
]
