"""Modelgate as a library: what :mod:`modelgate` exports. The command line stands on it.

`review` is the API server's part and the engine's, for one document; `judge` reviews many, each beside the others.
"""

from webhook.admission.errors import (
    CatalogError,
    DocumentError,
    LoadError,
    Malformed,
    ModelgateError,
    Problem,
    SettingsError,
)
from webhook.children import Child
from webhook.facts import Table
from webhook.facts.settings import Behaviour, Settings
from webhook.library.explained import Change, Explanation, Origin
from webhook.library.findings import Finding, Severity
from webhook.library.gate import Gate
from webhook.library.rulings import JudgedAs
from webhook.library.verdict import Verdict
from webhook.manifests.places import Place

for _error in (CatalogError, DocumentError, LoadError, Malformed, ModelgateError, SettingsError):
    _error.__module__ = "modelgate"  # as it is imported, and so as it is printed
