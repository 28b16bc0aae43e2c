"""A folder of one's own adds its kinds and rules to the built-in ones, in every command."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from modelgate import CatalogError, Gate
from tests.crds import crd, spec_schema
from tests.files import written
from webhook import catalog
from webhook.catalog import POLICIES
from webhook.cli import main
from webhook.cli.report.report import rule_page
from webhook.library.apiserver import read_definitions
from webhook.schema import load_crd

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[2]

OPEN = "x-kubernetes-preserve-unknown-fields"
CRD = crd("acme.example.com", "Widget", spec_schema(size={"type": "integer"}))
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-widget}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Widget}
  defaults:
  - {code: AC101, path: spec.size, value: "3", because: a usual size}
  validations:
  - {code: AC201, at: spec.size, rule: self < 9, message: is too big; use less than 9, docs: Widgets are small.}
"""
PACK = """\
apiVersion: modelgate.dev/v1alpha1
kind: Pack
metadata: {name: acme}
spec: {operator: Acme, codes: [AC]%s}
"""
WIDGET = "apiVersion: acme.example.com/v1\nkind: Widget\nmetadata: {name: a, namespace: b}\nspec: {size: 10}\n"
MODEL = (
    "apiVersion: inference.llmkube.dev/v1alpha1\nkind: Model\nmetadata: {name: a, namespace: b}\nspec: {source: ab}\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of one API, and beside it manifests."""
    written(tmp_path / "packs" / "acme", {"crds/widgets.yaml": CRD, "widget.yaml": POLICY, "pack.yaml": PACK % ""})
    return written(tmp_path, {"objects.yaml": f"{WIDGET}---\n{MODEL}"})


def run(capsys: Capture, *args: object) -> tuple[int, str]:
    code = main(list(map(str, args)))
    out, err = capsys.readouterr()
    return code, out + err


COMMANDS = [
    (("check", "--no-config", "FILE"), 1, ["AC201 error: spec.size", "LK201 warning"]),
    (("check", "--no-config", "FILE", "-o", "sarif"), 1, ['"id": "AC201"', "Widgets are small."]),
    (("normalise", "--no-config", "FILE"), 1, ["AC201"]),
    (("explain", "--no-config", "FILE"), 0, ["Widget b/a"]),
    (("scan", "FILE"), 1, ["AC201", "LK201"]),
    (("rule", "AC201"), 0, ["Widgets are small."]),
    (("rule",), 0, ["AC201", "LK201"]),
    (("fields", "Widget"), 0, ["spec.size"]),
    (("export", "policies", "Widget"), 0, ["object.spec.size < 9", "acme-widget"]),
]


@pytest.mark.parametrize(
    ("command", "code", "said"), [pytest.param(*each, id=" ".join(each[0][:2])) for each in COMMANDS]
)
def test_a_command_has_the_kinds_and_rules_of_a_folder_beside_the_built_in_ones(
    command: tuple[str, ...], code: int, said: list[str], folder: Path, capsys: Capture
) -> None:
    given = [str(folder / "objects.yaml") if each == "FILE" else each for each in command]
    got, text = run(capsys, *given, "--policies", folder / "packs")
    assert [each for each in said if each not in text] == []
    assert got == code, text


def test_a_folder_may_be_that_of_one_api(folder: Path, capsys: Capture) -> None:
    text = run(capsys, "check", "--no-config", folder / "objects.yaml", "--policies", folder / "packs" / "acme")[1]
    assert "AC201" in text


def test_a_gate_has_them_too(folder: Path) -> None:
    gate = Gate(policies=folder / "packs")
    assert gate.check(WIDGET).codes == {"AC201"}
    assert gate.check(MODEL).codes == {"LK201"}


def test_the_configuration_names_them(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".modelgate.yaml").write_text("policies: [packs]\n")
    assert "AC201" in run(capsys, "check", "objects.yaml")[1]


@pytest.mark.parametrize("command", [("rule", "AC201"), ("fields", "Widget"), ("export", "policies", "Widget")])
def test_commands_about_rules_know_those_of_the_configuration(
    command: tuple[str, ...], folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    subprocess.run(["git", "init", "-q"], check=True)
    Path(".modelgate.yaml").write_text("policies: [packs]\n")
    code, text = run(capsys, *command)
    assert code == 0, text


def test_those_of_a_configuration_are_not_read_at_a_commit(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working tree must not decide there."""
    monkeypatch.chdir(folder)
    Path(".modelgate.yaml").write_text("policies: [packs]\n")
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "one"]):
        subprocess.run(["git", *command], check=True)
    code, text = run(capsys, "check", "--git", "HEAD", "objects.yaml")
    assert code == 64
    assert "policies: are not read at a commit; give them by --policies" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda pack: (pack / "widget.yaml").write_text(POLICY.replace("AC", "LK")),
            "acme/widget.yaml:7: spec.defaults[0].code: codes of pack llmkube begin with LK (llmkube/pack.yaml:8); use "
            "other letters",
            id="codes of another pack",
        ),
        pytest.param(
            lambda pack: (pack / "pack.yaml").write_text((PACK % "").replace("[AC]", "[AC, OM]")),
            "spec.codes: codes of pack ome begin with OM (ome/pack.yaml:9); use other letters",
            id="letters of another pack, without a rule",
        ),
        pytest.param(
            lambda pack: pack.rename(pack.with_name("ome")),
            "there is a pack ome already; rename the folder",
            id="the name of another pack",
        ),
        pytest.param(
            lambda pack: (pack / "crds" / "models.yaml").write_text(
                (Path(str(POLICIES)) / "llmkube" / "crds" / "models.yaml").read_text()
            ),
            "acme/crds/models.yaml:3: Model.v1alpha1.inference.llmkube.dev is defined in "
            "llmkube/crds/models.yaml of pack llmkube already; remove it here",
            id="a kind of another pack",
        ),
        pytest.param(
            lambda pack: (pack / "other.yaml").write_text(
                POLICY.replace("kind: Policy\nmetadata: {name: acme-widget}", "kind: Policy\nmetadata: {name: other}")
            ),
            "acme/widget.yaml:9: spec.validations[0].code: code AC201 is already used by policy other",
            id="a code of another policy",
        ),
        pytest.param(
            lambda pack: (pack / "values.yaml").write_text("kind: Values\nname: a\nsize: 2\n"),
            "acme/values.yaml:1: kind: is not a Policy (kind: Values): move it to another folder",
            id="a file of another kind",
        ),
        pytest.param(
            lambda pack: (pack / "pack.yaml").write_text(PACK % ", facts: llmcube"),
            'there are no facts "llmcube"; use llmkube',
            id="unknown facts",
        ),
        pytest.param(
            lambda pack: (pack / "pack.yaml").write_text(PACK % ", code: [AC]"),
            "unknown field",
            id="an unknown field",
        ),
        pytest.param(
            lambda pack: (pack / "pack.yaml").write_text((PACK % "").replace("[AC]", "[acme]")),
            "should match pattern",
            id="letters in lower case",
        ),
    ],
)
def test_what_contradicts_another_pack_is_an_error_with_its_place(
    change, message: str, folder: Path, capsys: Capture
) -> None:
    change(folder / "packs" / "acme")
    code, text = run(capsys, "check", "--no-config", folder / "objects.yaml", "--policies", folder / "packs")
    assert code in {2, 64}
    assert message in text
    assert "Traceback" not in text


@pytest.mark.parametrize("name", ["nowhere", "objects.yaml"])
def test_what_is_not_a_folder_of_apis_is_an_error(name: str, folder: Path, capsys: Capture) -> None:
    code, text = run(capsys, "check", "--no-config", folder / "objects.yaml", "--policies", folder / name)
    assert code == 2
    assert f"{folder / name}: is not a folder of APIs: each API is a folder with crds/ and policies" in text


def test_facts_belong_to_a_pack_and_not_to_the_name_of_its_folder(tmp_path: Path) -> None:
    ours = tmp_path / "mine"
    for source in (Path(str(POLICIES)) / "llmkube").rglob("*"):
        if source.is_file():
            target = ours / source.relative_to(Path(str(POLICIES)) / "llmkube")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    loaded = catalog.load(ours)
    (model,) = (known for gvk, known in loaded.kinds.items() if gvk.kind == "Model")
    assert model.api == "mine"
    assert "source" in model.facts


def test_a_variable_may_read_one_that_is_a_constant(folder: Path) -> None:
    policy = POLICY.replace("  defaults:", "  variables: [%s, %s]\n  defaults:") % (
        "{name: mode, expression: \"'small'\"}",
        "{name: isSmall, expression: \"variables.mode in ['small', 'tiny']\"}",
    )
    policy = policy.replace("rule: self < 9", "rule: '!variables.isSmall || self < 9'")
    (folder / "packs" / "acme" / "widget.yaml").write_text(policy)
    loaded = catalog.load(packs=[folder / "packs"])
    (known,) = (known for gvk, known in loaded.kinds.items() if gvk.kind == "Widget")
    assert loaded.prepared(known).prepare().rules.others == frozenset()
    assert Gate(policies=folder / "packs").check(WIDGET).codes == {"AC201"}


def test_the_digest_covers_them(folder: Path) -> None:
    one = catalog.load(packs=[folder / "packs"])
    assert one.digest != catalog.load().digest
    (folder / "packs" / "acme" / "widget.yaml").write_text(POLICY.replace("9", "8"))
    assert catalog.load(packs=[folder / "packs"]).digest != one.digest
    assert json.dumps([str(gvk) for gvk in one.kinds][-1]) == '"Widget.v1.acme.example.com"'


@pytest.mark.parametrize("pack", sorted((ROOT / "packs").iterdir()), ids=lambda pack: pack.name)
def test_the_definitions_of_a_pack_of_the_repository_are_right(pack: Path) -> None:
    """A catalog trusts them."""
    definitions = list(read_definitions([pack / "crds"]))
    assert definitions
    for definition in definitions:
        load_crd(definition.value)


@pytest.mark.parametrize("pack", sorted((ROOT / "packs").iterdir()), ids=lambda pack: pack.name)
def test_the_cases_of_a_pack_of_the_repository_pass_and_cover_its_codes(pack: Path, capsys: Capture) -> None:
    assert main(["test", str(pack), "--coverage"]) == 0, capsys.readouterr().out


def test_todays_aim_is_judged_by_its_pack(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "service.yaml"
    file.write_text(
        "apiVersion: aim.eai.amd.com/v1alpha1\nkind: AIMService\nmetadata: {name: a, namespace: b}\n"
        "spec: {model: {name: llama}, minReplicas: 3, maxReplicas: 1}\n"
    )
    assert "not checked: 1 aim.eai.amd.com/v1alpha1" in run(capsys, "check", "--no-config", file)[1]
    said = run(capsys, "check", "--no-config", file, "--policies", ROOT / "packs" / "aim-engine")[1]
    assert "AE201 error: spec.minReplicas: Invalid value: 3: minReplicas 3 exceeds maxReplicas 1" in said


@pytest.mark.parametrize(
    ("model", "env", "expected"),
    [("other", "x", True), ("${MODEL}", "x", False), ("other", "${ENV}", True), ("llama", "x", False)],
)
def test_an_unknown_value_of_an_object_that_a_pack_refers_to_decides_only_what_reads_it(
    tmp_path: Path, capsys: Capture, model: str, env: str, expected: bool
) -> None:
    file = tmp_path / "service.yaml"
    file.write_text(f"""\
apiVersion: aim.eai.amd.com/v1alpha1
kind: AIMService
metadata: {{name: a, namespace: b}}
spec: {{model: {{name: llama}}, template: {{name: t}}}}
---
apiVersion: aim.eai.amd.com/v1alpha1
kind: AIMServiceTemplate
metadata: {{name: t, namespace: b}}
spec: {{modelName: "{model}", env: [{{name: A, value: "{env}"}}]}}
""")
    said = run(capsys, "check", "--no-config", file, "--policies", ROOT / "packs" / "aim-engine")[1]
    assert ("AE404" in said) == expected


def test_every_code_of_a_built_in_pack_has_the_page_of_its_api() -> None:
    pages = {
        (api, rule_page(f"{letters}201", "")) for api, pack in catalog.load().packs.items() for letters in pack.codes
    }
    assert pages == {(api, f"docs/rules/{api}.md") for api in catalog.load().packs}


def test_the_digest_is_of_what_packs_say_not_of_how_they_are_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder / "packs"
    acme, other = folder / "acme", folder / "other"
    shutil.copytree(acme, other)
    for file in other.rglob("*.yaml"):
        text = file.read_text().replace("acme.example.com", "other.example.com").replace("AC", "OT")
        file.write_text(text.replace("name: acme", "name: other"))
    digests = {catalog.load(packs=packs).digest for packs in ([folder], [acme, other], [other, acme])}
    assert len(digests) == 1
    alone = catalog.load(packs=[acme]).digest
    assert alone not in digests
    monkeypatch.chdir(acme)
    assert catalog.load(packs=[Path()]).digest == alone
    monkeypatch.chdir(acme / "crds")
    assert catalog.load(packs=[Path("..")]).digest == alone
    (acme / "widget.yaml").write_text((acme / "widget.yaml").read_text() + "# another text\n")
    assert catalog.load(packs=[acme]).digest != alone


def test_a_field_without_a_type_is_not_called_undefined_alone(folder: Path) -> None:
    pack = folder / "packs" / "acme"
    free = crd("acme.example.com", "Widget", spec_schema(size={"type": "integer"}, free={OPEN: True}))
    (pack / "crds" / "widgets.yaml").write_text(yaml.safe_dump(free))
    for rule, told in (("has(self.free)", True), ("has(self.fre)", False)):
        text = f"  - {{code: AC202, at: spec, rule: {rule}, message: set it, docs: For a test.}}\n"
        (pack / "widget.yaml").write_text(POLICY + text)
        with pytest.raises(CatalogError, match="undefined field") as caught:
            catalog.load(packs=[pack])
        assert ("the definition does not say what is in it: give it a type there" in str(caught.value)) is told
