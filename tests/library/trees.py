"""Trees of files from one text: a line ``=== path`` begins a file."""

import re
from pathlib import Path

from webhook.catalog import built_in
from webhook.library.pins import Pins

FLUX = """
=== llmkube/source.yaml
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: llmkube}
spec:
  url: oci://ghcr.io/defilantech/charts/llmkube
  ref: {tag: 0.9.19}
=== llmkube/release.yaml
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: llmkube}
spec:
  chartRef: {kind: OCIRepository, name: llmkube}
"""


def write(root: Path, text: str) -> Path:
    """Write the files of a text below a folder."""
    for part in re.split(r"^=== ", text, flags=re.MULTILINE)[1:]:
        name, _, content = part.partition("\n")
        file = root / name.strip()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return root


def pins(root: Path, text: str) -> Pins:
    """The pins of a tree none of whose files is read before."""
    return Pins.read(built_in(), [], [write(root, text)])


def lines(read: Pins) -> list[str]:
    """Each pin as a line: API, release or reason, place."""
    return sorted(f"{pin.api} {pin.release or pin.why} {pin.place}" for pin in read.pins)
