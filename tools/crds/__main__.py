"""``python -m tools.crds``: read the types of a real API server, then write every CRD that embeds some.

It also writes how apply configurations of the API server's built-in kinds merge. ``--offline`` starts no API server and
keeps these files: enough if no source names a new type of Kubernetes.

The types are those of ``EMBEDDED``, which upstream's definitions embed: new fields of a newer release are in no
installed definition, so a cluster would drop them. ``MODELGATE_E2E_KUBERNETES`` chooses the API server.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from tests.e2e.assets import assets
from tests.e2e.kubectl import Kubectl
from tests.e2e.plane import Plane
from tests.e2e.recipes import DEFAULT, KUBERNETES
from tools.crds.builtin import builtin
from tools.crds.files import BUILTIN, EMBEDDED, TYPES, kubernetes_names, made_files
from tools.crds.openapi import Schema, types_of
from tools.crds.text import text_of


def published(kubectl: Kubectl) -> dict[str, Schema]:
    """The schemas that an API server publishes."""
    paths = json.loads(kubectl("get", "--raw", "/openapi/v3"))["paths"]
    groups = [path for path in paths if path.startswith(("api/", "apis/"))]
    documents = [json.loads(kubectl("get", "--raw", f"/openapi/v3/{group}")) for group in groups]
    schemas = (document.get("components", {}).get("schemas", {}) for document in documents)
    return {name: schema for part in schemas for name, schema in part.items()}


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(path.relative_to(Path.cwd()), file=sys.stderr)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="use the types of the last run")
    if not parser.parse_args().offline:
        with Plane(assets("plane")) as plane:
            schemas = published(plane.kubectl)
        if KUBERNETES == EMBEDDED:
            write(TYPES, text_of(types_of(schemas, kubernetes_names())))
        if KUBERNETES == DEFAULT:
            write(BUILTIN, text_of(builtin(schemas)))
    for path, text in made_files():
        write(path, text)


if __name__ == "__main__":
    main()
