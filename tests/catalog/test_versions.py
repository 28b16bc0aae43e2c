"""A policy for several versions of a kind that differ, and versions that no policy is for."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import yaml
from starlette.testclient import TestClient

from modelgate import CatalogError, Gate
from tests import crds
from tests.crds import spec_schema
from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.cli import main
from webhook.serve.app import application
from webhook.serve.gate import Gate as Serving

NUMBER = {"type": "integer"}
OLD: dict[str, Any] = {"size": NUMBER, "colour": {"type": "string"}}
NEW: dict[str, Any] = {"size": NUMBER, "colour": NUMBER, "part": NUMBER, "most": {**NUMBER, "default": 5}}
RULES = """\
  defaults:
  - {code: AC101, path: spec.part, value: "1", because: usual, docs: Most have one.}
  validations:
  - {code: AC201, at: spec.size, rule: self < 9, message: is too big; use 8, docs: Widgets are small.}
  - {code: AC202, at: spec.part, rule: self < 9, message: is too big; use 8, docs: Widgets are small.}
  - {code: AC203, at: spec, rule: "has(self.part) || has(self.size)", message: set size, docs: One is needed.}
  - {code: AC204, at: spec, when: has(self.size), rule: self.size < self.most, message: is over most, docs: x}
"""


def pack_at(folder: Path, versions: str, rules: str = RULES) -> Path:
    """A pack with the kind Widget in the versions v1 and v2, which differ, and a policy of some of them."""
    definition = crds.crd("acme.example", "Widget", spec_schema(**OLD))
    (version,) = definition["spec"]["versions"]
    schema = {"openAPIV3Schema": spec_schema(**NEW)}
    definition["spec"]["versions"].append({**version, "name": "v2", "storage": False, "schema": schema})
    (folder / "crds").mkdir(parents=True, exist_ok=True)
    (folder / "crds" / "widgets.yaml").write_text(yaml.safe_dump(definition))
    head = "apiVersion: modelgate.dev/v1alpha1\nkind: Policy\nmetadata: {name: acme}\nspec:\n"
    (folder / "widget.yaml").write_text(
        f"{head}  target: {{group: acme.example, versions: [{versions}], kind: Widget}}\n{rules}"
    )
    pack = {"operator": "Acme", "codes": ["AC"], "groups": ["acme.example"]}
    head = {"apiVersion": "modelgate.dev/v1alpha1", "kind": "Pack", "metadata": {"name": "acme"}, "spec": pack}
    (folder / "pack.yaml").write_text(yaml.safe_dump(head))
    return folder


def widget(version: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"acme.example/{version}", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec}


def codes_in(folder: Path, version: str) -> set[str]:
    loaded = catalog.load(packs=[folder])
    return {*loaded.kinds[GroupVersionKind("acme.example", version, "Widget")].policy.codes}


def test_a_field_that_a_version_lacks_is_absent_there(tmp_path: Path) -> None:
    folder = pack_at(tmp_path / "acme", "v1, v2")
    assert codes_in(folder, "v2") == {"AC101", "AC201", "AC202", "AC203", "AC204"}
    assert codes_in(folder, "v1") == {"AC201", "AC203"}  # v2 always has most, so that no rule asks for it
    gate = Gate(policies=folder)
    for version in ("v1", "v2"):
        assert "AC201" in gate.check(widget(version, size=10)).codes
    assert gate.check(widget("v1")).codes == {"AC203"}
    assert gate.check(widget("v2")).allowed
    assert gate.check(widget("v2", part=9)).codes == {"AC202"}
    assert gate.check(widget("v1", size=1)).object["spec"] == {"size": 1}
    assert gate.check(widget("v2", size=1)).object["spec"] == {"size": 1, "part": 1, "most": 5}


def test_an_error_names_the_version_in_which_it_is_one(tmp_path: Path) -> None:
    rule = "  validations:\n  - {code: AC201, at: spec.colour, rule: self > 3, message: use 4, docs: x}\n"
    with pytest.raises(CatalogError, match=r"rule: in v1: found no matching overload for '_>_' applied to '\(string"):
        Gate(policies=pack_at(tmp_path / "acme", "v2, v1", rule))
    rule = "  validations:\n  - {code: AC201, at: spec.collour, rule: self > 3, message: use 4, docs: x}\n"
    with pytest.raises(CatalogError, match=r"no 'collour' in spec of the schema, which has colour, most, part, size"):
        Gate(policies=pack_at(tmp_path / "acme", "v1, v2", rule))


def test_a_version_without_rules_is_said_by_check_pack_check_and_readiness(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder = pack_at(tmp_path / "acme", "v2")
    text = "apiVersion: this version has no rules (v2 has): only its schema is judged"
    assert [each.text for each in Gate(policies=folder).check(widget("v1", size=10)).warnings] == [text]
    assert Gate(policies=folder).check(widget("v2", size=4)).warnings == ()
    file = tmp_path / "widget.json"
    file.write_text(json.dumps(widget("v1", size=10)))
    main(["check", f"--policies={folder}", str(file)])
    assert text in capsys.readouterr().out
    assert main(["pack", "check", str(folder)]) == 1
    told = "Widget.v1.acme.example is served and has no rules: add v1 to the versions of its policies"
    printed = capsys.readouterr().out
    assert f"{folder}: {told}" in printed
    assert "acme: 1 kind, 5 codes" in printed

    gate = Serving()
    with caplog.at_level(logging.WARNING):
        gate.use(catalog.load(packs=[folder]))
    alone = "Widget.v1.acme.example is judged by its schema alone"
    said = f"{alone}: only v2 of it has rules; add this version to its policies"
    assert [each.getMessage() for each in caplog.records] == [said]
    with TestClient(application(gate)) as client:
        assert said in client.get("/readyz").text
        assert 'modelgate_kind_without_rules{kind="Widget.v1.acme.example"} 1.0' in client.get("/metrics").text
    gate.use(catalog.load(packs=[pack_at(folder, "v1, v2")]))
    assert gate.uncovered.texts == ()


def test_a_version_without_rules_of_a_kind_without_rules_is_not_said(tmp_path: Path) -> None:
    folder = pack_at(tmp_path / "acme", "v1")
    (folder / "widget.yaml").unlink()
    assert catalog.load(packs=[folder]).without_rules() == []
    assert Gate(policies=folder).check(widget("v1")).warnings == ()
    assert catalog.load().without_rules() == []
