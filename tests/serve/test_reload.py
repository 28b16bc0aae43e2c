"""New rules into a running gate: nothing is lost, nothing half-loaded is used, what is broken changes nothing."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tests.bench.objects import body, sized
from tests.crds import crd_text
from tests.serve.conftest import Served, asked_all_the_time, until
from tests.serve.test_app import a_review
from webhook.admission.errors import CatalogError
from webhook.catalog import Catalog, Kinds
from webhook.engine import Options
from webhook.facts.settings import DEFAULT_SETTINGS, Settings
from webhook.serve.app import application
from webhook.serve.gate import Gate
from webhook.serve.reload import Reloader, admission_policies, rules

ROOT = Path(__file__).resolve().parents[2] / "policies"
OTHER = Settings(ome_namespace="other")
RULE = """\
  - {code: %s, at: spec.source, rule: 'false', message: always, action: Warn, docs: For a test.}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ROOT / "llmkube", tmp_path / "policies" / "llmkube")).parent


def with_rule(folder: Path, *codes: str) -> None:
    """Put a set in place that has these rules besides the installed ones, in one step."""
    text = (ROOT / "llmkube" / "model.yaml").read_text() + "".join(RULE % code for code in codes)
    new = folder / "llmkube" / "model.yaml.new"
    new.write_text(text)
    new.replace(folder / "llmkube" / "model.yaml")


def loaded(folder: Path, settings: Settings = DEFAULT_SETTINGS) -> tuple[Gate, Reloader[Catalog]]:
    gate = Gate(options=Options(settings=settings))
    reloader = rules(gate, folder)
    reloader.load()
    return gate, reloader


def test_a_new_set_is_taken_when_it_has_been_seen_twice(folder: Path) -> None:
    gate, reloader = loaded(folder)
    first = gate.state.catalog
    with_rule(folder, "LK901")
    reloader.refresh()
    assert gate.state.catalog is first
    reloader.refresh()
    assert gate.state.catalog is not first
    assert gate.state.catalog is not None
    assert "LK901" in [code for known in gate.state.catalog.kinds.values() for code in known.policy.codes]


def test_the_same_set_under_other_settings_has_another_digest(folder: Path) -> None:
    digests = {
        gate.state.catalog.digest
        for gate, _ in (loaded(folder, each) for each in (DEFAULT_SETTINGS, OTHER))
        if gate.state.catalog
    }
    assert len(digests) == 2


def test_a_broken_set_is_refused_and_the_old_one_stays(folder: Path) -> None:
    gate, reloader = loaded(folder)
    first, told = gate.state.catalog, list[tuple[str, str]]()
    gate.report = lambda reason, note: told.append((reason, note))
    with_rule(folder, "LK901", "LK901")
    for _ in range(3):
        reloader.refresh()
    assert gate.state.catalog is first
    assert "code LK901 is used twice" in gate.readiness.refused
    assert [(reason, "code LK901 is used twice" in note) for reason, note in told] == [("RulesRefused", True)]
    assert gate.unready() == []
    assert b'modelgate_catalog_loads_total{outcome="refused"} 1.0' in gate.metrics.text()
    with_rule(folder, "LK902")
    reloader.refresh()
    reloader.refresh()
    assert gate.state.catalog is not first
    assert gate.readiness.refused == ""


def test_a_folder_that_vanishes_leaves_the_rules_in_use(folder: Path) -> None:
    gate, reloader = loaded(folder)
    first = gate.state.catalog
    shutil.rmtree(folder)
    reloader.refresh()
    reloader.refresh()
    assert gate.state.catalog is first
    assert gate.readiness.refused.endswith(f"{folder}: cannot be read: No such file or directory")
    assert b'modelgate_catalog_loads_total{outcome="refused"} 1.0' in gate.metrics.text()  # and said once


def test_a_folder_that_comes_back_as_it_was_is_in_use_again(folder: Path) -> None:
    gate, reloader = loaded(folder)
    away = folder.rename(folder.with_name("away"))
    reloader.refresh()
    assert gate.readiness.refused
    away.rename(folder)
    reloader.refresh()
    reloader.refresh()
    assert not gate.readiness.refused


def test_a_set_behind_links_to_folders_is_taken_up_when_it_changes(tmp_path: Path, folder: Path) -> None:
    """As the kubelet mounts a ConfigMap with paths that have folders in them."""
    with_rule(shutil.copytree(folder, tmp_path / "mount" / "..2"), "LK901")
    mount = Path(shutil.copytree(folder, tmp_path / "mount" / "..1")).parent
    (mount / "..data").symlink_to("..1")
    (mount / "llmkube").symlink_to("..data/llmkube")
    gate, reloader = loaded(mount)
    first = gate.state.catalog
    (mount / "next").symlink_to("..2")
    (mount / "next").rename(mount / "..data")
    reloader.refresh()
    reloader.refresh()
    assert gate.state.catalog is not first


def test_an_empty_folder_is_not_a_set_of_rules(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CatalogError, match="empty: no API found"):
        loaded(tmp_path / "empty")
    gate, reloader = loaded(folder)
    first = gate.state.catalog
    shutil.rmtree(folder / "llmkube")
    reloader.refresh()
    reloader.refresh()
    assert gate.state.catalog is first
    assert "no API found" in gate.readiness.refused


def test_a_gate_does_not_start_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="nowhere: cannot be read: No such file"):
        loaded(tmp_path / "nowhere")
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(CatalogError, match="circle: cannot be read: Too many levels"):
        loaded(tmp_path / "circle")


def test_a_gate_does_not_start_with_a_broken_set(folder: Path) -> None:
    with_rule(folder, "LK901", "LK901")
    with pytest.raises(CatalogError, match="LK901"):
        loaded(folder)


def pack_of(folder: Path, group: str, letters: str) -> Path:
    """A folder of one kind, Widget of the group, with one rule that fires always."""
    (folder / "crds").mkdir(parents=True)
    (folder / "crds" / "widgets.yaml").write_text(
        crd_text(group, "Widget", "{type: object, properties: {spec: {type: object}}}")
    )
    head = f"apiVersion: modelgate.dev/v1alpha1\nkind: Policy\nmetadata: {{name: {folder.name}}}\nspec:\n"
    target = f"  target: {{group: {group}, versions: [v1], kind: Widget}}\n  validations:\n"
    rule = f"  - {{code: {letters}301, at: spec, rule: 'false', message: always, action: Warn, docs: For a test.}}\n"
    (folder / "widget.yaml").write_text(head + target + rule)
    return folder


def test_the_packs_of_all_folders_are_in_use_and_a_change_of_each_is_taken(tmp_path: Path, folder: Path) -> None:
    one, two = pack_of(tmp_path / "one", "one.example", "XA"), pack_of(tmp_path / "two", "two.example", "XB")
    for root in (None, folder):
        gate = Gate()
        reloader = rules(gate, root, [one, two])
        reloader.load()
        assert gate.state.catalog is not None
        assert {"one.example", "two.example", "inference.llmkube.dev"} <= {
            gvk.group for gvk in gate.state.catalog.kinds
        }
    for pack in (one, two):
        (pack / "widget.yaml").write_text((pack / "widget.yaml").read_text().replace("301", "302"))
        for _ in range(2):
            reloader.refresh()
    assert gate.state.catalog is not None
    codes = {code for known in gate.state.catalog.kinds.values() for code in known.policy.codes}
    assert {"XA302", "XB302"} <= codes
    (two / "widget.yaml").write_text("kind: [")
    for _ in range(2):
        reloader.refresh()
    assert f"the new rules in {folder} and {one} and {two} are not used" in gate.readiness.refused


def test_a_gate_that_starts_with_a_broken_set_is_not_ready_says_why_and_takes_up_the_repaired_one(folder: Path) -> None:
    with_rule(folder, "LK901", "LK901")
    gate = Gate()
    reloader = rules(gate, folder)
    reloader.start()
    assert ["code LK901 is used twice" in reason for reason in gate.unready()] == [True]
    reloader.refresh()
    assert gate.state.catalog is None
    with_rule(folder, "LK902")
    for _ in range(2):
        reloader.refresh()
    assert gate.state.catalog is not None
    assert gate.unready() == []


def test_policies_that_are_broken_at_the_start_let_nothing_through_until_they_are_repaired(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("kind: [")
    gate = Gate(catalog=Catalog(Kinds({}), "digest"))
    reloader = admission_policies(gate, tmp_path)
    reloader.start()
    with TestClient(application(gate)) as client:
        assert "mine.yaml" in client.get("/readyz").text
        answer = client.post("/validate", json=a_review())
        assert (answer.status_code, answer.text) == (503, "the admission policies are not loaded yet\n")
        file.write_text("")
        for _ in range(2):
            reloader.refresh()
        assert client.get("/readyz").status_code == 200
        assert client.post("/validate", json=a_review()).status_code == 200


def test_policies_wait_for_rules_that_are_broken_at_the_start(tmp_path: Path) -> None:
    gate = Gate()
    reloader = admission_policies(gate, tmp_path)
    reloader.start()
    assert len(gate.unready()) == 1
    gate.use(Catalog(Kinds({}), "digest"))
    for _ in range(2):
        reloader.refresh()
    assert gate.unready() == []


def test_a_reload_under_load_loses_nothing_and_is_never_half_done(serve: Callable[..., Served], folder: Path) -> None:
    """The two rules of the new set are seen together or not at all."""
    served = serve("--only-policies", str(folder), MODELGATE_POLICIES_POLL_SECONDS="0.05")
    both = frozenset({"LK901", "LK902"})

    def said(response: Any) -> frozenset[str]:
        warnings = response.get("warnings", [])
        return frozenset(code for code in both if any(code in line for line in warnings))

    with asked_all_the_time(served, body(sized(2048)), said) as seen:
        with_rule(folder, "LK901", "LK902")
        until(lambda: both in seen[-4:], "the new set is used")
        with_rule(folder, "LK901", "LK901")
        until(lambda: "ok, but the new rules" in served.get("/readyz")[1], "the broken set is refused")
        count = len(seen)
        until(lambda: len(seen) > count + 50, "requests are answered with the last good set")
    assert set(seen) == {frozenset(), both}
    assert set(seen[count:]) == {both}
