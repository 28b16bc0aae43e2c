"""The language server: what editors show of manifests while they are written. It stands on the library.

`Workspace` holds the files and judges them; a module for each question of an editor answers it from there; `server` is
the protocol. Only `modelgate lsp` imports this package, because it needs pygls.
"""

from webhook.lsp.connection import serve_stdio, serve_tcp
from webhook.lsp.server import Load, ManifestServer
from webhook.lsp.workspace import Desk, Workspace
