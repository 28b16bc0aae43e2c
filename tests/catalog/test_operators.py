"""The release whose behaviour the rules describe: a setting's, the installed one, the documented one, or unknown."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from tests.catalog.test_installed import changed, decided
from tests.crds import crd, crd_text, spec_schema
from tests.shared import ROOT
from webhook import catalog
from webhook.admission.decision import GroupVersionKind
from webhook.admission.errors import CatalogError, SettingsError
from webhook.admission.patch import diff
from webhook.catalog import Catalog, Deviation, definition_names, forms, with_installed
from webhook.catalog.operators import undecided_codes
from webhook.facts.settings import Settings
from webhook.schema.crd.digest import digest

SIZE_AND_COLOUR = {"size": {"type": "integer"}, "colour": {"type": "string"}}
CRD = crd_text("example.com", "Widget", json.dumps(spec_schema(**SIZE_AND_COLOUR)))
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: widget}
spec:
  target: {group: example.com, versions: [v1], kind: Widget}
  variables:
  - {name: limit, expression: "10", operator: <1.2.0}
  - {name: limit, expression: "20", operator: ">=1.2.0"}
  defaults:
  - {code: XX101, path: spec.colour, value: "'red'", because: as before, operator: <1.1.0}
  - {code: XX101, path: spec.colour, value: "'blue'", because: as since then, operator: ==1.1.0}
  validations:
  - {code: XX201, at: spec.size, rule: self > 0, message: must be positive, docs: As it always was.}
  - {code: XX202, at: spec.size, rule: self <= variables.limit, message: large, docs: It is so., operator: ">=1.0.0"}
  - {code: XX301, at: spec.shape, rule: self != 'old', message: old, docs: New., action: Warn, operator: ">=1.2.0"}
"""
PACK = """\
apiVersion: modelgate.dev/v1alpha1
kind: Pack
metadata: {name: example}
spec: {operator: Widgeteer, documented: 1.0.0}
"""
WIDGET = GroupVersionKind("example.com", "v1", "Widget")


def definition(fields: dict[str, Any], text: str = "", kind: str = "Widget") -> dict[str, Any]:
    return crd("example.com", kind, {"description": text, **spec_schema(**SIZE_AND_COLOUR, **fields)})


SHAPE = {"shape": {"type": "string"}}
FIRST, SECOND, THIRD = (definition({}, "of 1.0"), definition({}, "of 1.1"), definition(SHAPE, "of 1.2 and later"))
SERVICE, LATER = (definition({}, text, "Service") for text in ("one", "another"))
TABLE = {
    "releases": ["1.0.0", "1.1.0", "1.2.0", "1.3.0", "1.4.0"],
    "digests": {
        "widgets.example.com": [
            [digest(FIRST), "1.0.0", "1.0.0"],
            [digest(SECOND), "1.1.0", "1.1.0"],
            [digest(THIRD), "1.2.0", "1.4.0"],
        ],
        "services.example.com": [[digest(SERVICE), "1.0.0", "1.3.0"], [digest(LATER), "1.4.0", "1.4.0"]],
        "pools.example.com": [["0" * 64, "1.3.0", "1.4.0"]],
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "pack.yaml": PACK,
        "releases.json": json.dumps(TABLE),
        "crds/widgets.yaml": CRD,
        "forms/widgets.jsonl": json.dumps({"since": "1.2.0", "definition": definition(SHAPE)}),
        "widget.yaml": POLICY,
    }
    for name, text in files.items():
        file = tmp_path / "example" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def loaded_with(folder: Path, release: str = "") -> Catalog:
    return catalog.load(folder, Settings(releases=(("example", release),) if release else ()))


def rules(found: Catalog) -> list[str]:
    return [f"{rule.code} {rule.operator}".strip() for rule in found.kinds[WIDGET].policy.rules]


BY_RELEASE = {
    "1.0.0": ["XX101 <1.1.0", "XX201", "XX202 >=1.0.0"],
    "1.1.0": ["XX101 ==1.1.0", "XX201", "XX202 >=1.0.0"],
    "1.2.0": ["XX201", "XX202 >=1.0.0", "XX301 >=1.2.0"],
    "1.4.0": ["XX201", "XX202 >=1.0.0", "XX301 >=1.2.0"],
    "unknown": ["XX201"],
}


@pytest.mark.parametrize("release", BY_RELEASE)
def test_the_rules_are_those_of_the_release_that_is_set(release: str, folder: Path) -> None:
    found = loaded_with(folder, release)
    assert rules(found) == BY_RELEASE[release]
    schema = found.kinds[WIDGET].schema.raw["properties"]["spec"]["properties"]
    assert ("shape" in schema) == (release in {"1.2.0", "1.4.0", "unknown"})  # the newest accepts most


def test_the_variables_are_those_of_the_release(folder: Path) -> None:
    sources = {each: loaded_with(folder, each).kinds[WIDGET].policy.variables for each in ("1.0.0", "1.2.0")}
    assert {release: found["limit"].source for release, found in sources.items()} == {"1.0.0": "10", "1.2.0": "20"}


def test_naming_the_documented_release_changes_nothing_and_another_one_the_digest(folder: Path) -> None:
    digests = {release: loaded_with(folder, release).digest for release in ("", *BY_RELEASE)}
    assert digests[""] == digests["1.0.0"]
    assert len(set(digests.values())) == len(digests) - 1


def test_where_nothing_says_which_release_runs_ranges_hold_of_the_one_that_the_rules_describe(folder: Path) -> None:
    described = PACK.replace("documented: 1.0.0", "documented: 1.0.0, described: 1.1.0")
    (folder / "example" / "pack.yaml").write_text(described)
    silent = loaded_with(folder)
    assert (rules(silent), silent.releases()["example"].name) == (BY_RELEASE["1.1.0"], "1.0.0")
    assert str(silent.releases()["example"]).endswith(" 1.0.0 with the rules of 1.1.0")
    named = loaded_with(folder, "1.0.0")
    installed, _ = with_installed(silent, [FIRST])
    for found in (named, installed):
        assert (rules(found), found.releases()["example"].name) == (BY_RELEASE["1.0.0"], "1.0.0")
    assert len({silent.digest, named.digest}) == 2
    other, _ = with_installed(silent, [definition({}, "other words")])
    assert rules(other) == BY_RELEASE["1.1.0"]


@pytest.mark.parametrize(
    ("definitions", "absent", "releases"),
    [
        ([], (), "1.0.0"),
        ([FIRST], (), "1.0.0"),
        ([definition({}, "other words")], (), "1.0.0"),  # it is the documented one, with other texts
        ([SECOND], (), "1.1.0"),
        ([THIRD], (), "1.2.0 to 1.4.0"),
        ([THIRD, SERVICE], (), "1.2.0 to 1.3.0"),
        ([THIRD, SERVICE], ("pools.example.com",), "1.2.0"),
        ([THIRD, LATER], (), "1.4.0"),
        ([LATER], (), "1.4.0"),
        ([SECOND, LATER], (), "unknown"),
        ([definition(SHAPE, "of 1.5")], (), "unknown"),
        ([THIRD, definition({}, "a third", "Service")], (), "unknown"),
        ([FIRST], ("services.example.com",), "1.0.0"),
    ],
)
def test_the_release_is_the_one_that_installs_these_definitions(
    definitions: list[dict[str, Any]], absent: tuple[str, ...], releases: str, folder: Path
) -> None:
    found, _ = with_installed(loaded_with(folder), definitions, absent=absent)
    assert found.releases()["example"].name == releases


def test_a_setting_counts_more_than_what_is_installed(folder: Path) -> None:
    found, _ = with_installed(loaded_with(folder, "1.0.0"), [THIRD, LATER])
    assert found.releases()["example"].name == "1.0.0"
    assert "XX101 <1.1.0" in rules(found)


def test_a_rule_counts_only_if_it_is_true_of_all_releases_that_may_run(folder: Path) -> None:
    policy = folder / "example" / "widget.yaml"
    policy.write_text(
        POLICY.replace('operator: ">=1.2.0"}\n', 'operator: ">=1.3.0"}\n').replace(
            '"20", operator: ">=1.3.0"', '"20", operator: ">=1.2.0"'
        )
    )
    found, (deviation,) = with_installed(loaded_with(folder), [THIRD, SERVICE])
    assert rules(found) == ["XX201", "XX202 >=1.0.0"]
    assert undecided_codes(found.kinds[WIDGET]) == deviation.aside == ("XX301",)
    assert str(deviation) == (
        "Widget.v1.example.com: Widgeteer 1.2.0 to 1.3.0 may run (set releases.example), and not all of these are "
        "described by the same rules, so that rules are not applied: XX301"
    )


def test_under_an_unknown_release_the_codes_that_are_not_applied_are_said(folder: Path) -> None:
    _, deviations = with_installed(loaded_with(folder), [definition(SHAPE, "of 1.5")])
    (said,) = (each for each in map(str, deviations) if "XX" in each)
    assert said == (
        "Widget.v1.example.com: the release of Widgeteer is not known (set releases.example), so that rules are not "
        "applied: XX101, XX202, XX301"
    )
    assert all(each.is_notable for each in deviations if each.release)


def test_nothing_is_said_where_the_release_is_known(folder: Path) -> None:
    for definitions in ([FIRST], [SECOND], [THIRD, LATER], [definition({}, "other words")]):
        _, deviations = with_installed(loaded_with(folder), definitions)
        assert not [each for each in deviations if each.is_notable]


def test_an_upgrade_and_a_downgrade_make_the_same_catalogs_again(folder: Path) -> None:
    first = loaded_with(folder)
    steps = [with_installed(first, [each])[0].digest for each in (FIRST, SECOND, FIRST, SECOND)]
    assert steps[:2] == steps[2:]
    assert steps[0] == first.digest != steps[1]


def test_every_rule_of_every_release_is_in_a_form(folder: Path) -> None:
    found = {each for form in forms(loaded_with(folder)) for each in rules(form)}
    assert found == {each for rules in BY_RELEASE.values() for each in rules}
    assert loaded_with(folder).codes() == {"XX101", "XX201", "XX202", "XX301"}


def test_the_names_of_definitions_are_those_of_kinds_and_of_marks(folder: Path) -> None:
    own, further = definition_names(loaded_with(folder))
    assert own == {"widgets.example.com"}
    assert further == {"services.example.com", "pools.example.com"}


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.55.0", '--release example=1.55.0: "1.55.0" is not a known release; use 1.3.0 or 1.4.0'),
        ("01.2.0", '--release example=01.2.0: "01.2.0" is not a known release; use 1.2.0 or 1.3.0'),
        ("", '"" is not a known release; the known ones are 1.0.0 to 1.4.0'),
    ],
)
def test_a_release_that_does_not_exist_is_an_error_with_close_ones(release: str, message: str, folder: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        catalog.load(folder, Settings(releases=(("example", release),)))
    assert message in str(caught.value)


def test_a_release_that_no_table_has_is_judged_as_the_one_before_it(folder: Path) -> None:
    found = {each: loaded_with(folder, each) for each in ("1.5.0", "1.2.7", "0.9.0")}
    assert [rules(each) for each in found.values()] == [BY_RELEASE["1.4.0"], BY_RELEASE["1.2.0"], BY_RELEASE["unknown"]]
    assert [str(each.releases()["example"]) for each in found.values()] == [f"Widgeteer {each}" for each in found]
    said = {release: [*map(str, with_installed(each, [])[1])] for release, each in found.items()}
    assert said["1.5.0"] == ["Widgeteer 1.5.0 is newer than 1.4.0, the newest that is known"]
    assert said["1.2.7"] == ["Widgeteer 1.2.7 is not known: judged as 1.2.0, the known release before it"]
    (older,) = said["0.9.0"]
    assert "Widgeteer 0.9.0 is older than 1.0.0, the oldest that is known: schema not judged, so that rules" in older
    digests = {each.digest for each in (*found.values(), loaded_with(folder, "1.4.0"))}
    assert len(digests) == 4
    assert loaded_with(folder, "1.5.0").digest == found["1.5.0"].digest


def test_an_older_release_has_the_rules_whose_fields_its_definition_has(folder: Path) -> None:
    table = {**TABLE, "releases": ["0.8.0", *TABLE["releases"]]}
    (folder / "example" / "releases.json").write_text(json.dumps(table))
    old = crd("example.com", "Widget", spec_schema(size={"type": "integer"}, form={"type": "string"}))
    lines = (
        {"since": "0.8.0", "definition": old},
        {"since": "1.0.0", "patch": diff(old, definition({}))},
        {"since": "1.2.0", "patch": diff(definition({}), definition(SHAPE))},
    )
    (folder / "example" / "forms" / "widgets.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    of_old = '  - {code: XX302, at: spec.form, rule: self != "", message: empty, docs: Old., operator: <1.0.0}\n'
    (folder / "example" / "widget.yaml").write_text(POLICY + of_old)
    found = {release: loaded_with(folder, release) for release in ("0.8.0", "0.9.0", "1.0.0", "1.2.0")}
    assert rules(found["0.8.0"]) == rules(found["0.9.0"]) == ["XX201", "XX302 <1.0.0"]  # XX101 sets the colour
    assert [rules(found[each]) for each in ("1.0.0", "1.2.0")] == [BY_RELEASE["1.0.0"], BY_RELEASE["1.2.0"]]
    assert not decided(found["0.8.0"], "Widget", {"size": 1, "form": ""}).allowed
    (cause,) = decided(found["0.8.0"], "Widget", {"size": 1, "colour": "red"}).causes
    said = "unknown field; colour is a field of Widgeteer 1.0.0 and later, and not of Widgeteer 0.8.0"
    assert cause.message == said
    (cause,) = decided(found["1.0.0"], "Widget", {"size": 1, "form": "a"}).causes
    assert cause.message == "unknown field; form is a field of Widgeteer 0.8.0: set releases.example, or give --crds"
    unknown = decided(loaded_with(folder, "unknown"), "Widget", {"size": 1, "form": "a"})
    assert unknown.allowed
    assert "form is a field of Widgeteer 0.8.0" in str(unknown.warnings[0])


def test_the_schema_of_a_release_without_a_definition_is_not_judged(folder: Path) -> None:
    table = {**TABLE, "releases": ["0.8.0", *TABLE["releases"]]}
    (folder / "example" / "releases.json").write_text(json.dumps(table))
    found = loaded_with(folder, "0.8.0")
    assert rules(found) == ["XX101 <1.1.0", "XX201"]
    said = "the definition of Widget.v1.example.com in Widgeteer 0.8.0 is not known: schema not judged"
    assert [*map(str, with_installed(found, [])[1])] == [said]
    assert decided(found, "Widget", {"size": "x", "form": 1}).allowed
    assert not decided(found, "Widget", {"size": 0}).allowed  # XX201
    given, deviations = with_installed(found, [definition(SHAPE)])
    assert not decided(given, "Widget", {"size": "x"}).allowed
    assert said not in map(str, deviations)


@pytest.mark.parametrize(
    ("text", "held"),
    [(">=1.6.0", {"1.6.0", "1.7.0"}), ("<1.6.0", {"1.5.0", "1.4.0"}), (">=1.5.0 <1.7.0", {"1.5.0", "1.6.0"})],
)
def test_a_range_may_name_a_release_newer_than_all(text: str, held: set[str], folder: Path) -> None:
    policy = folder / "example" / "widget.yaml"
    policy.write_text(POLICY.replace('operator: ">=1.0.0"', f'operator: "{text}"'))
    for release in ("1.4.0", "1.5.0", "1.6.0", "1.7.0"):
        assert (f"XX202 {text}" in rules(loaded_with(folder, release))) == (release in held)
    assert f"XX202 {text}" in {each for form in forms(loaded_with(folder)) for each in rules(form)}


@pytest.mark.parametrize("release", ["1.5.0", "2.0.0"])
def test_the_head_is_older_than_the_releases_after_all_that_are_known(release: str, folder: Path) -> None:
    table = {**TABLE, "releases": [*TABLE["releases"], "head-2026-01-01"]}
    (folder / "example" / "releases.json").write_text(json.dumps(table))
    policy = folder / "example" / "widget.yaml"
    for text, held in ((">=head", True), ("<head", False), (">=head <1.5.0", False), (">=1.5.0", True)):
        policy.write_text(POLICY.replace('operator: ">=1.0.0"', f'operator: "{text}"'))
        assert (f"XX202 {text}" in rules(loaded_with(folder, release))) == held, text
    assert "XX202 >=1.5.0" not in rules(loaded_with(folder, "head"))


def test_an_api_without_releases_cannot_be_set(folder: Path) -> None:
    file = folder / "plain" / "crds" / "gadgets.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(definition({}, kind="Gadget")))
    with pytest.raises(SettingsError, match='"plain" is not an API with releases; use one of example'):
        catalog.load(folder, Settings(releases=(("plain", "1.0"),)))


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "pack.yaml",
            "documented: 1.0.0",
            "documented: 1.0.5",
            'spec.documented: "1.0.5" is not a known release; use 1.0.0',
        ),
        ("pack.yaml", "documented: 1.0.0", "documented: newest", 'spec.documented: "newest" is not a release'),
        ("pack.yaml", "documented: 1.0.0", "documented: 1.0", "spec.documented: Input should be a valid string"),
        ("pack.yaml", "documented", "dokumented", "spec.dokumented: unknown field"),
        ("pack.yaml", "operator: Widgeteer, ", "", "spec.operator: Field required"),
        ("pack.yaml", "spec:", "spec: [", "pack.yaml"),
        ("pack.yaml", PACK, "", "pack.yaml: must have one document, not 0"),
        ("releases.json", '"1.1.0", "1.2.0"', '"1.2.0", "1.1.0"', "releases: 1.1.0 must not come after 1.2.0"),
        ("releases.json", '"1.0.0", "1.0.0"', '"1.0.0", "1.1.0"', "1.1.0 has another digest in digests.widgets"),
        (
            "widget.yaml",
            "operator: ==1.1.0",
            "operator: ==1.1.1",
            'defaults[1].operator: "1.1.1" is not a known release',
        ),
        ("widget.yaml", "operator: ==1.1.0", "operator: after 1.0", 'defaults[1].operator: "after 1.0" is not a range'),
        (
            "widget.yaml",
            "operator: ==1.1.0",
            "operator: <=1.1.0",
            "defaults[1].code: code XX101 is used twice, and the",
        ),
        (
            "widget.yaml",
            "operator: <1.2.0",
            "operator: <=1.2.0",
            "variables[1].name: name limit is used twice, and the",
        ),
        ("widget.yaml", "self != 'old'", "self.size() > nothing", "under Widgeteer 1.4.0: "),
        ("forms/widgets.jsonl", "shape", "form", "under Widgeteer 1.4.0: no 'shape' in spec of the schema"),
    ],
)
def test_what_is_wrong_with_a_pack_is_named_when_it_is_loaded(
    file: str, old: str, new: str, message: str, folder: Path
) -> None:
    path = folder / "example" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(CatalogError) as caught:
        catalog.load(folder)
    assert message in str(caught.value)


def test_a_range_without_a_pack_is_an_error(folder: Path) -> None:
    (folder / "example" / "pack.yaml").unlink()
    with pytest.raises(CatalogError, match=r"defaults\[0\].operator: this API has no releases; remove the range"):
        catalog.load(folder)


def test_the_table_is_read_only_where_a_definition_of_the_group_is_given(
    loaded: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webhook.policy.table.Table.parse", lambda *_: pytest.fail("the table is read"))
    anew = catalog.load(ROOT / "policies") if loaded is None else loaded
    same, deviations = with_installed(anew, [definition({})])
    assert same is anew
    assert not deviations


def test_the_built_in_policies_are_good_in_every_release(tmp_path: Path) -> None:
    copytree(ROOT / "policies" / "llmkube", tmp_path / "llmkube")
    found = catalog.load(tmp_path)
    assert found.releases()["llmkube"].name == "0.9.5"
    service, model = found.kinds
    assert not decided(found, "Model", {"source": "hf://a/b", "prefetch": True}).allowed
    assert list(with_installed(found, [])) == [found, ()]
    assert isinstance(
        with_installed(found, [changed("Model", lambda spec: spec["properties"].pop("files"))])[1][0], Deviation
    )
    assert (service.kind, model.kind) == ("InferenceService", "Model")
