"""`test`, `rule` and `fields`: what the catalog says of itself."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.crds import crd_text
from webhook import catalog
from webhook.catalog.releases import compiled
from webhook.cli import main
from webhook.policy import defaults_in_force

SPEC = "{type: object, properties: {size: {type: integer}, colour: {type: string}}}"
CRD = crd_text("example.com", "Thing", f"{{type: object, properties: {{spec: {SPEC}}}}}")
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: thing}
spec:
  target: {group: example.com, versions: [v1], kind: Thing}
  defaults:
  - {code: XX101, path: spec.colour, value: "'red'", because: everything is}
  validations:
  - {code: XX201, at: spec.size, rule: self > 0, message: must be positive, docs: Nothing is smaller than nothing.}
"""
CASES = """\
apiVersion: modelgate.dev/v1alpha1
kind: Cases
target: {group: example.com, version: v1, kind: Thing}
cases:
- {name: good, spec: {size: 1}, expect: {spec: {size: 1, colour: red}, defaults: [XX101]}}
- name: bad
  spec: {size: 0}
  expect: {deny: [XX201], causes: ["spec.size: Invalid value: 0: must be positive (XX201)"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"crds/things.yaml": CRD, "thing.yaml": POLICY, "cases/thing.yaml": CASES}.items():
        file = tmp_path / "example" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def test_cases_of_ones_own_are_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["test", str(folder)]) == 0
    assert capsys.readouterr().out == "2 passed, 0 failed\n"


def test_a_case_that_is_not_as_expected_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = folder / "example" / "cases" / "thing.yaml"
    cases.write_text(CASES.replace("size: 0", "size: 2"))
    assert main(["test", str(folder)]) == 1
    out = capsys.readouterr().out
    assert "FAILED Thing: bad\n  deny: expected ['XX201'], got []" in out
    assert out.endswith("1 passed, 1 failed\n")


def test_a_new_default_fails_the_cases_that_now_get_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = "  - {code: XX102, path: spec.shape, value: \"'round'\", because: all are}\n  validations:"
    (folder / "example" / "thing.yaml").write_text(POLICY.replace("  validations:", new))
    (folder / "example" / "crds" / "things.yaml").write_text(CRD.replace("colour:", "shape: {type: string}, colour:"))
    advice = "spec.shape: set to 'round' (XX102), but not in `expect`: add `defaults: [XX101, XX102]`"
    for expect in ("{set: {spec.colour: red}}", "{defaults: [XX101]}", "{}"):
        file = folder / "example" / "cases" / "thing.yaml"
        file.write_text(CASES.replace("{spec: {size: 1, colour: red}, defaults: [XX101]}", expect))
        assert main(["test", str(folder)]) == 1
        out = capsys.readouterr().out
        assert "cases/thing.yaml:5: FAILED Thing: good\n" in out
        assert advice in out
        assert out.endswith("1 passed, 1 failed\n")


@pytest.mark.parametrize(
    ("expect", "failures"),
    [
        ("{set: {spec.colour: red, spec.shape: round}}", []),
        ("{set: {spec: {size: 1, colour: red, shape: round}}}", []),
        ("{set: {spec.shape: round}, defaults: [XX101]}", []),
        ("{defaults: [XX101]}", []),
        (
            "{set: {spec.shape: round}}",
            ["spec.colour: set to 'red' (XX101), but not in `expect`: add `defaults: [XX101]`"],
        ),
        ("{defaults: [XX101, XX103]}", ["defaults: expected ['XX101', 'XX103'], got ['XX101']"]),
        (
            "{set: {spec.shape: round, spec.colour: red}, defaults: []}",
            ["spec.colour: set to 'red' (XX101), but not in `expect`: add `defaults: [XX101]`"],
        ),
    ],
)
def test_what_a_case_says_of_defaults_is_complete(
    folder: Path, capsys: pytest.CaptureFixture[str], expect: str, failures: list[str]
) -> None:
    """The schema's default of ``shape`` counts only where the case names a default of the schema."""
    crd = CRD.replace("colour:", "shape: {type: string, default: round}, colour:")
    (folder / "example" / "crds" / "things.yaml").write_text(crd)
    cases = CASES.replace("{spec: {size: 1, colour: red}, defaults: [XX101]}", expect)
    (folder / "example" / "cases" / "thing.yaml").write_text(cases)
    assert main(["test", str(folder)]) == (1 if failures else 0)
    assert [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")] == failures


def test_a_case_that_names_one_default_of_the_schema_names_all(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = (
        "shape: {type: string, default: round}, box: {type: object, default: {a: 1}, properties: {a: {type: integer}}}"
    )
    (folder / "example" / "crds" / "things.yaml").write_text(CRD.replace("colour:", f"{fields}, colour:"))
    cases = CASES.replace("{spec: {size: 1, colour: red}, d", "{set: {spec.shape: round}, d")
    (folder / "example" / "cases" / "thing.yaml").write_text(cases)
    assert main(["test", str(folder)]) == 1
    advice = "spec.box.a: set to 1 (a default of the schema), but not in `expect`: add `spec.box.a: 1` to `set`"
    assert advice in capsys.readouterr().out


def test_a_run_without_cases_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "example" / "cases" / "thing.yaml").unlink()
    assert main(["test", str(folder)]) == 2
    assert capsys.readouterr() == ("0 passed, 0 failed\n", "modelgate test: no case is found\n")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("cases:", "casses:"), "casses"),
        (("version: v1,", "version: v2,"), "no CRD serves Thing.v2.example.com"),
    ],
)
def test_cases_that_cannot_be_read_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str], change: tuple[str, str], message: str
) -> None:
    (folder / "example" / "cases" / "thing.yaml").write_text(CASES.replace(*change))
    assert main(["test", str(folder)]) == 2
    assert "example/cases/thing.yaml:" in (err := capsys.readouterr().err)
    assert message in err


def test_a_rule_is_explained_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "lk205"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("LK205: Model (inference.llmkube.dev/v1alpha1), spec.source\n")
    for part in (
        "Valid for LLMKube 0.8.18 and later.\n",
        "A warning, a denial under the strict profile.",
        "\nbad: a volume without a path\n    spec:\n      source: pvc://my-claim\n",
        "\n  → spec.source: PVC source must include a file path: pvc://my-claim",
        "\ngood:\n    spec:\n      source: pvc://my-claim/m.gguf\n",
    ):
        assert part in out


def test_the_page_shows_what_must_be_in_the_cluster_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "AI405"]) == 0
    _, bad, good = capsys.readouterr().out.replace("\ngood:", "\nbad:").split("\nbad:")
    assert [bad.count(kind) for kind in ("AIMClusterServiceTemplate", "AIMService", "AIMClusterImage\n")] == [1, 0, 0]
    assert (
        "added or changed in the cluster:\n    apiVersion: aim.silogen.ai/v1alpha1\n    kind: AIMClusterImage" in good
    )


def test_the_page_says_what_files_alone_cannot_show(capsys: pytest.CaptureFixture[str]) -> None:
    """OM401 is a denial about another object, LK364 a warning about one, OM402 a denial about the service itself."""
    for code, is_said in (("OM401", True), ("LK364", False), ("OM402", False)):
        assert main(["rule", code]) == 0
        assert ("Of files alone it is a warning " in capsys.readouterr().out) == is_said


def test_the_page_of_an_update_shows_what_was_stored(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "AI352"]) == 0
    out = capsys.readouterr().out
    assert "  stored before:\n    spec:\n      sourceUri: hf://a/b\n      size: 2Gi\n" in out
    assert "modelgate.dev/normalised" not in out


def test_the_page_names_every_kind_and_the_flags_of_its_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "OM223"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "OM223: ClusterServingRuntime and ServingRuntime (ome.io/v1beta1), spec.supportedModelFormats\n"
    )
    assert "(with --ome=doc-era)\n" in out


def test_the_page_names_the_places_of_all_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    main(["rule", "OM375"])
    first = capsys.readouterr().out.splitlines()[0]
    assert "spec.engineConfig, " in first
    assert "spec.router" in first.split(", ")


def test_rules_of_every_kind_can_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    policies = [known.policy for known in catalog.load().kinds.values()]
    for code in {code for policy in policies for code in (policy.codes[0], policy.codes[-1])}:
        assert main(["rule", code]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  → ") >= len({policy.codes for policy in policies})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("LK2050", "LK205"),
        ("AC201", "AI201"),
        ("om45", "OM451 or OM415 or OM405"),
        ("LK199", "LK103 or LK102 or LK101"),
        ("shema", "schema"),
    ],
)
def test_a_rule_that_does_not_exist_is_answered_with_those_near(
    capsys: pytest.CaptureFixture[str], written: str, meant: str
) -> None:
    assert main(["rule", written]) == 64
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"modelgate rule: there is no rule {written}; did you mean {meant}?")


def test_a_rule_that_is_near_none_is_answered_with_where_all_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "nothing"]) == 64
    assert "there is no rule nothing; `modelgate rule` lists all" in capsys.readouterr().err


@pytest.fixture
def compiled_kinds(
    load_anew: Callable[..., catalog.Catalog], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """The kinds whose rules have been compiled; none is when the test begins."""
    kinds = set[str]()

    def noting(known: catalog.KnownKind) -> catalog.KnownKind:
        kinds.add(known.gvk.kind)
        return compiled(known)

    monkeypatch.setattr("webhook.catalog.catalog.compiled", noting)
    monkeypatch.setattr(catalog, "load", partial(load_anew, shipped=tmp_path))
    return kinds


@pytest.mark.parametrize(
    ("arguments", "exit_code", "kinds"),
    [
        (("rule", "LK205"), 0, {"Model"}),
        (("rule", "AI202"), 0, {"AIMService"}),
        (("rule", "LK9999"), 64, set()),
        (("rule",), 0, set()),
        (("fields",), 0, set()),
        (("fields", "model", "-o", "flux"), 0, set()),
    ],
)
def test_only_the_rules_that_are_explained_are_compiled(
    arguments: tuple[str, ...], exit_code: int, kinds: set[str], compiled_kinds: set[str]
) -> None:
    assert main(arguments) == exit_code
    assert compiled_kinds == kinds


def test_fields_are_listed_in_the_order_in_which_compiled_rules_set_them() -> None:
    loaded = catalog.load()
    for gvk, known in loaded.kinds.items():
        codes = [
            rule.code for source in known.sources for rule in defaults_in_force(source.document, known.in_force.holds)
        ]
        assert codes == [rule.code for rule in loaded.kinds[gvk].policy.defaults], gvk


def test_the_fields_the_gate_may_set_are_those_of_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fields", "model"]) == 0
    out = capsys.readouterr().out
    assert "spec.hardware.gpu.resourceName: derived from vendor and runtime (LK102, LLMKube >=0.8.10 <0.9.9)" in out
    assert main(["fields", "model", "-o", "argocd"]) == 0
    (snippet,) = yaml.safe_load(capsys.readouterr().out)["ignoreDifferences"]
    assert snippet["kind"] == "Model"
    assert "/metadata/annotations/modelgate.dev~1normalised" in snippet["jsonPointers"]
    assert main(["fields", "model", "-o", "flux"]) == 0
    (ignored,) = yaml.safe_load(capsys.readouterr().out)["driftDetection"]["ignore"]
    assert ignored["target"] == {"group": "inference.llmkube.dev", "kind": "Model"}
    assert main(["fields", "nothing", "-o", "flux"]) == 64
    said = capsys.readouterr()
    assert (said.out, said.err.partition(":")[0]) == ("", "modelgate fields")
    assert "unknown kind 'nothing'; known kinds: AIM" in said.err


def test_the_source_of_a_rule_is_printed_with_that_of_its_variables(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "om322", "--source"]) == 0
    out = capsys.readouterr().out
    assert "OM322 variables.recommended: facts.behaviour == 'recommended'\n  cost at most: 5\n" in out
    assert "\n   def run(V, n=None):\n    try:\n     t0 = V['facts']\n" in out
    assert "# V: the bindings." in out


def test_the_source_says_that_the_function_of_all_rules_covers_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "LK205", "--source"]) == 0
    assert "LK205 is part of the function of all rules of the kind\n" in capsys.readouterr().out
    assert main(["rule", "LD303", "--source"]) == 0  # a transition rule, which reads oldSelf
    assert "LD303 is part of the function of all rules of the kind\n" in capsys.readouterr().out


def test_the_source_names_the_functions_that_are_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "LK205", "--source"]) == 0
    assert "\n  k0 = webhook.golang.regexp.matcher." in capsys.readouterr().out
