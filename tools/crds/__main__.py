"""``python -m tools.crds``: read the types of a real API server, then write every definition that embeds some.

``--offline`` leaves ``kubernetes.json`` as it is and starts no API server: enough where no source names a type of
Kubernetes that was not named before.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from tests.e2e.assets import assets
from tests.e2e.plane import Plane
from tools.crds.files import TYPES, kubernetes_names, made_files
from tools.crds.openapi import Schema, types_of
from tools.crds.text import text_of

GROUPS = ("api/v1", "apis/apps/v1")
"""Where the embedded types are published."""


def published() -> dict[str, Schema]:
    """The schemas that the API server of ``make assets`` publishes."""
    with Plane(assets("plane")) as plane:
        documents = [json.loads(plane.kubectl("get", "--raw", f"/openapi/v3/{group}")) for group in GROUPS]
    return {name: schema for document in documents for name, schema in document["components"]["schemas"].items()}


def write(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
        print(path.relative_to(Path.cwd()), file=sys.stderr)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="use the types that were read before")
    if not parser.parse_args().offline:
        write(TYPES, text_of(types_of(published(), kubernetes_names())))
    for path, text in made_files():
        write(path, text)


if __name__ == "__main__":
    main()
