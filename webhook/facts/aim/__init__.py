"""AIM: what the rules of its kinds may know beyond an object's text."""

from webhook.facts.aim.facts import FACTS, KNOWLEDGE
from webhook.facts.aim.health import template_cache
from webhook.facts.aim.lookup import DEFAULT_CONFIG, config_of, image_of
from webhook.facts.aim.parts import predictor_of
from webhook.facts.aim.resources import devices_of, gpu_model, models_on_nodes
from webhook.facts.aim.routing import render, route_of
from webhook.facts.aim.service import Resolved, resolve_service, rivals
from webhook.facts.aim.template import resolve_template, same
from webhook.facts.nodes import Referent
