"""Does it fit? An object's pods against nodes, quotas and classes, and its weights against the memory of GPUs."""

from webhook.engine.placement.explained import fit_tables
from webhook.engine.placement.findings import FIT_CODES, fit_findings
