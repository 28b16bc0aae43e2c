"""Pins: which release of an operator, with which settings, a repository deploys, from its files alone."""

from webhook.library.pins.pin import Pin, Pinned
from webhook.library.pins.pins import Pins
