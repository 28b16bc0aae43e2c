"""The API server's own HTTP interface, for tests that ask it hundreds of questions: a kubectl takes a second each."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import ssl
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.e2e.kubectl import Object
from webhook.catalog import KnownKind


@dataclass(frozen=True, slots=True)
class Reply:
    """What the API server answered: the object, or the Status of a refusal; and the texts of its warnings."""

    code: int
    body: Any
    warnings: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        return self.code in {200, 201}


class Client:
    """One connection of an administrator; objects go to the API of their kind."""

    def __init__(self, kubeconfig: Path) -> None:
        config = json.loads(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.connection = http.client.HTTPSConnection(urlsplit(cluster["server"]).netloc, context=context)
        self.headers = {
            "Authorization": f"Bearer {config['users'][0]['user']['token']}",
            "Content-Type": "application/json",
        }

    def create(self, known: KnownKind, obj: Object, *, dry: bool = True) -> Reply:
        return self.ask("POST", f"{_collection(known, obj)}{'?dryRun=All' if dry else ''}", obj)

    def update(self, known: KnownKind, obj: Object, *, dry: bool = True) -> Reply:
        path = f"{_collection(known, obj)}/{obj['metadata']['name']}"
        return self.ask("PUT", f"{path}{'?dryRun=All' if dry else ''}", obj)

    def delete(self, known: KnownKind, obj: Object) -> Reply:
        return self.ask("DELETE", f"{_collection(known, obj)}/{obj['metadata']['name']}", None)

    def ask(self, method: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        """``body`` is a JSON value, or a text of JSON as it is to be sent; None for none."""
        sent = {**self.headers, **(headers or {})}
        self.connection.request(method, path, body if isinstance(body, str | None) else json.dumps(body), sent)
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        headers = response.headers.get_all("Warning") or ()
        warnings = [found[1] for header in headers for found in [re.search(r'"(.*)"', header)] if found]
        return Reply(response.status, answer, tuple(warnings))


@contextlib.contextmanager
def connected(kubeconfig: Path) -> Iterator[Client]:
    client = Client(kubeconfig)
    with contextlib.closing(client.connection):
        yield client


def _collection(known: KnownKind, obj: Object) -> str:
    namespace = f"/namespaces/{obj['metadata']['namespace']}" if known.namespaced else ""
    return f"/apis/{known.gvk.group}/{known.gvk.version}{namespace}/{known.plural}"
