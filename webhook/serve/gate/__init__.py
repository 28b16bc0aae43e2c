"""A gate: its state, its readiness, and one review from body to reply."""

from webhook.serve.gate.gate import Gate
