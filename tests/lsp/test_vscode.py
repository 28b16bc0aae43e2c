"""The extension for VS Code: it is packaged, and the protocol library that it uses speaks with the server.

Needs Node, and `npm ci` in editors/vscode.
"""

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import pytest

from tests.lsp.scenes import MODEL

HERE = Path(__file__).parent
EXTENSION = HERE.parents[1] / "editors" / "vscode"
pytestmark = pytest.mark.skipif(
    shutil.which("npm") is None or not (EXTENSION / "node_modules").is_dir(), reason="needs `npm ci` in editors/vscode"
)


def test_the_extension_is_packaged_as_vs_code_installs_it(tmp_path):
    for name in ("package.json", "package.mjs", "extension.js", "README.md"):
        shutil.copy(EXTENSION / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(EXTENSION / "node_modules")
    packaged = []
    for _ in range(2):
        subprocess.run(["npm", "run", "package"], cwd=tmp_path, capture_output=True, check=True)
        packaged.append((tmp_path / "modelgate.vsix").read_bytes())
    assert packaged[0] == packaged[1]
    with zipfile.ZipFile(tmp_path / "modelgate.vsix") as archive:
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    described = json.loads(texts["extension/package.json"])
    assert f"extension/{described['main'].removeprefix('./')}" in texts
    namespace = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
    manifest = ET.fromstring(texts["extension.vsixmanifest"])
    identity = manifest.find("v:Metadata/v:Identity", namespace).attrib
    assert (identity["Id"], identity["Version"]) == (described["name"], described["version"])
    assert {each.attrib["Path"] for each in manifest.findall("v:Assets/v:Asset", namespace)} <= texts.keys()
    suffixes = {each.attrib["Extension"] for each in ET.fromstring(texts["[Content_Types].xml"])}
    assert {f".{name.rpartition('.')[2]}" for name in texts if name != "[Content_Types].xml"} <= suffixes
    assert 'require("vscode")' in texts["extension/dist/extension.js"]


def test_the_protocol_library_of_vs_code_speaks_with_the_server(tmp_path):
    (tmp_path / "model.yaml").write_text(MODEL.replace("accelerator", "acelerator"))
    program = Path(sys.executable).parent / "modelgate"
    command = ["node", HERE / "protocol.mjs", EXTENSION, program, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert json.loads(done.stdout) == {
        "actions": [
            "Replace acelerator by accelerator",
            "Show what the operator makes of this object",
            "Explain this object: the choice of the runtime, does it fit, the origin of each field",
        ],
        "code": 0,
        "encoding": "utf-16",
        "findings": [[7, 1, "unknown-field"]],
        "hints": 3,
        "saving": ["source.fixAll.modelgate"],
        "symbols": ["Model llama"],
        "watched": ["**/*.{yaml,yml,json}"],
    }
