"""The engine: one request in, one decision out. Pure, total, deterministic."""

from webhook.engine.engine import DEFAULT_OPTIONS, Options, mutate, scope_of, validate

__all__ = ["DEFAULT_OPTIONS", "Options", "mutate", "scope_of", "validate"]
