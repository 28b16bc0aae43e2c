"""Settings of operators: declared in pack.yaml, given by name, and read by rules with their types."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.crds import crd_text, spec_schema
from webhook import catalog
from webhook.admission import GroupVersionKind
from webhook.admission.errors import CatalogError, SettingsError
from webhook.catalog import built_in, with_operator
from webhook.cluster import MemoryView
from webhook.engine import Options
from webhook.facts.settings import DEFAULT_SETTINGS, Settings, folded, frozen, operator_pairs
from webhook.library.given import settings_of
from webhook.library.review import decide
from webhook.policy.pack import Setting

PACK = """\
apiVersion: modelgate.dev/v1alpha1
kind: Pack
metadata: {name: example}
spec:
  operator: Widgeteer
  codes: [EX]
  groups: [example.com]
  settings:
    shared: {type: boolean, default: false, values: [widgets.shared], arguments: [--shared], docs: Whether it shares.}
    most: {type: integer, default: 5, environment: [MOST], docs: The largest size.}
    colours: {type: strings, default: [red], values: ["pools['a.b'].colours"], docs: What may be used.}
    room: {type: quantity, docs: The room of each widget.}
    greeting: {type: string, default: "", docs: What it says.}
"""
POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: widget}
spec:
  target: {group: example.com, versions: [v1], kind: Widget}
  validations:
  - code: EX201
    at: spec.size
    rule: facts.operator.shared || self <= facts.operator.most
    messageExpression: "'at most ' + string(facts.operator.most)"
    docs: It does not fit.
  - code: EX202
    at: spec.colour
    rule: self in facts.operator.colours
    messageExpression: "facts.operator.greeting + 'use one of ' + facts.operator.colours.join(', ')"
    docs: It is not there.
  - code: EX203
    at: spec.room
    when: has(facts.operator.room)
    rule: quantity(self).compareTo(quantity(facts.operator.room)) <= 0
    messageExpression: "'at most ' + facts.operator.room"
    docs: It does not fit.
"""
FIELDS = {"size": {"type": "integer"}, "colour": {"type": "string"}, "room": {"type": "string"}}
WIDGET = GroupVersionKind("example.com", "v1", "Widget")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "example" / "crds").mkdir(parents=True)
    (tmp_path / "example" / "pack.yaml").write_text(PACK)
    (tmp_path / "example" / "widget.yaml").write_text(POLICY)
    (tmp_path / "example" / "crds" / "widgets.yaml").write_text(
        crd_text("example.com", "Widget", json.dumps(spec_schema(**FIELDS)))
    )
    return tmp_path


def said(folder: Path, *texts: str, release: str = "", **spec: Any) -> list[str]:
    settings = settings_of({"operators": list(texts), "releases": {"example": release} if release else {}})
    loaded = catalog.load(folder, settings)
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "d"}, "spec": spec}
    options = Options(settings=settings)
    decided = decide(obj, None, loaded.kinds[WIDGET], loaded, MemoryView(), options, assigned=True)
    return [f"{each.code}: {each.message.split(': ', 2)[2]}" for each in decided.validation.causes]


@pytest.mark.parametrize(
    ("texts", "spec", "expected"),
    [
        ([], {"size": 6, "colour": "red", "room": "1Gi"}, ["EX201: at most 5"]),
        (["most=6"], {"size": 6}, []),
        (["most=-1"], {"size": 0}, ["EX201: at most -1"]),
        (["shared=true"], {"size": 6}, []),
        (["colours=blue, green"], {"colour": "green"}, []),
        (["colours=blue", "greeting=no, "], {"colour": "red"}, ["EX202: no,use one of blue"]),
        (["colours="], {"colour": "red"}, ["EX202: use one of "]),
        (["room=512Mi"], {"room": "1Gi"}, ["EX203: at most 512Mi"]),
        (["room=1Gi"], {"room": "1Gi"}, []),
    ],
)
def test_rules_read_what_is_given_and_else_the_default(
    texts: list[str], spec: dict[str, Any], expected: list[str], folder: Path
) -> None:
    assert said(folder, *(f"example.{text}" for text in texts), **spec) == expected


def test_a_release_says_what_counts_where_nothing_is_given(folder: Path) -> None:
    ranged = "    most: {type: integer, default: 5, releases: {'>=1.1 <1.3': 7, '>=1.3': 9}, docs: The largest size.}"
    pack = re.sub("    most: .*", ranged, PACK).replace("  codes:", "  documented: 1.0.0\n  codes:")
    (folder / "example" / "pack.yaml").write_text(pack)
    (folder / "example" / "releases.json").write_text('{"releases": ["1.0.0", "1.1.0", "1.3.0"], "digests": {}}')
    given = {release: said(folder, size=99, release=release) for release in ("1.0.0", "1.2.0", "1.3.0", "unknown")}
    expected = {"1.0.0": 5, "1.2.0": 7, "1.3.0": 9, "unknown": 5}
    assert given == {release: [f"EX201: at most {most}"] for release, most in expected.items()}
    assert said(folder, "example.most=2", size=99, release="1.3.0") == ["EX201: at most 2"]


@pytest.mark.parametrize(("release", "chosen"), [("0.2.0-rc1", False), ("0.2.0-rc2", True), ("unknown", False)])
def test_a_release_of_aim_says_whether_a_template_is_chosen(release: str, chosen: bool) -> None:
    gvk = GroupVersionKind("aim.silogen.ai", "v1alpha1", "AIMService")
    known = catalog.load(settings=Settings(releases=(("aim", release),))).find(gvk)
    assert known is not None
    assert bool(known.completed(DEFAULT_SETTINGS).aim_auto_selection) is chosen
    for choice in (True, False):
        assert known.completed(Settings(aim_auto_selection=choice)).aim_auto_selection is choice


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("example.shared=yes", "--set example.shared: 'yes' is not true or false"),
        ("example.most=1.5", "--set example.most: '1.5' is not an integer"),
        ("example.most=99999999999999999999", "--set example.most: '99999999999999999999' is not an integer"),
        ("example.room=much", "--set example.room: 'much' is not a quantity such as 100Gi"),
        ("example.mots=1", 'Widgeteer has no setting "mots" here; use most'),
        ("example.zzz=1", 'no setting "zzz" here; use one of shared, most, colours, room, greeting'),
        ("exmple.most=1", '"exmple" is not an API with settings of its operator; use example'),
        ("example.most", "'example.most' sets nothing; write it as llmkube.hostPathRoots=/srv/models"),
        ("most=1", "'most=1' sets nothing; write it as llmkube.hostPathRoots=/srv/models"),
    ],
)
def test_what_is_wrong_with_a_setting_is_named(text: str, message: str, folder: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        said(folder, text)
    assert message in str(caught.value)


def test_every_wrong_setting_is_named_at_once(folder: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        said(folder, "example.most=x", "example.other=1")
    assert len(caught.value.problems) == 2
    with pytest.raises(SettingsError, match=r"example\.most is set twice"):
        said(folder, "example.most=1", "example.most=1")


@pytest.mark.parametrize(
    ("given", "pairs"),
    [
        ({"a": {"b": 1, "c": None}}, (("a.b", 1),)),
        ("a.b=1; a.c=2,3 ;", (("a.b", "1"), ("a.c", "2,3"))),
        ({"a": {"b": {"k": "v", "empty": ""}}}, (("a.b", ("k=v",)),)),
        ({"a": {"b": ["x", ["y"]]}}, (("a.b", ("x", None)),)),
        ({"a": {"b": {"k": ["v"], "true": True}}}, (("a.b", ()),)),
        ([["a.b", True]], (("a.b", True),)),
    ],
)
def test_settings_are_pairs_however_they_are_written(given: object, pairs: object) -> None:
    assert operator_pairs(given) == pairs
    assert hash(operator_pairs(given)) == hash(pairs)
    assert operator_pairs(operator_pairs(given)) == pairs


@pytest.mark.parametrize("given", [5, None, {"a": 5}, {"a": ["b"]}, [5], [["a.b"]]])
def test_what_has_no_settings_is_an_error(given: object) -> None:
    with pytest.raises(ValueError, match=r"settings|sets nothing"):
        operator_pairs(given)


def test_the_digest_of_a_catalog_covers_what_is_given(folder: Path) -> None:
    digests = {catalog.load(folder, Settings(operators=pairs)).digest for pairs in ((), (("example.most", 6),))}
    assert len(digests) == 2


DECLARED = "most: {type: integer, default: 5, environment: [MOST], docs: The largest size.}"


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("most: {type: number, docs: d}", "spec.settings.most.type: Input should be 'boolean', 'integer', 'string'"),
        ("most: {type: integer, default: five, docs: d}", "spec.settings.most: default: 'five' is not an integer"),
        ("most: {type: integer, default: '5', docs: d}", "spec.settings.most: default: '5' is not an integer"),
        ("most: {type: boolean, default: 1, docs: d}", "spec.settings.most: default: '1' is not true or false"),
        ("most: {type: strings, default: a, docs: d}", "spec.settings.most: default: 'a' is not a list of texts"),
        ("most: {type: integer}", "spec.settings.most.docs: Field required"),
        ("most: {type: integer, docs: d, flag: x}", "spec.settings.most.flag: unknown field"),
        (
            "most: {type: integer, docs: d, values: ['a[*]']}",
            "most.values[0]: must be the path of one value, without [*]",
        ),
        ("most: {type: integer, docs: d, values: [a..b]}", "most.values[0]: 'a..b' is not a valid path at column 2"),
        ("most: {type: integer, docs: d, arguments: [most]}", "most.arguments[0]: String should match pattern"),
        ("most: {type: integer, docs: d, environment: [A-B]}", "most.environment[0]: String should match pattern"),
        ("most: {type: integer, docs: d, operator: new}", 'most.operator: "new" is not a range of releases'),
        ("1most: {type: integer, docs: d}", "String should match pattern"),
        ("most: 5", "spec.settings.most: Input should be a valid dictionary"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_named_with_its_line(declared: str, message: str, folder: Path) -> None:
    assert DECLARED in PACK
    (folder / "example" / "pack.yaml").write_text(PACK.replace(DECLARED, declared))
    with pytest.raises(CatalogError) as caught:
        catalog.load(folder)
    assert message in str(caught.value)
    assert f"{folder / 'example' / 'pack.yaml'}:10: " in str(caught.value)


def test_a_rule_that_reads_a_setting_that_is_not_declared_or_of_another_type_is_not_loaded(folder: Path) -> None:
    policy = folder / "example" / "widget.yaml"
    policy.write_text(POLICY.replace("<= facts.operator.most", "<= facts.operator.mots", 1))
    with pytest.raises(CatalogError, match="mots"):
        catalog.load(folder)
    policy.write_text(POLICY.replace("facts.operator.shared ||", "facts.operator.greeting ||", 1))
    with pytest.raises(CatalogError, match=r"widget.yaml:.*validations\[0\].rule"):
        catalog.load(folder)


def test_what_is_read_of_an_operator_counts_where_nothing_is_given() -> None:
    pack, settings = built_in()["llmkube"], Settings(operators=(("llmkube.defaultFSGroup", 7),))
    values = {"defaultFSGroup": 0, "hostPathRoots": ["/a", "/b"], "sharedPool": {"gpu": "shared"}}
    assert dict(with_operator(settings, pack, values).operators) == {
        "llmkube.defaultFSGroup": 7,
        "llmkube.hostPathRoots": ("/a", "/b"),
        "llmkube.sharedPool": ("gpu=shared",),
    }
    with pytest.raises(ValueError, match="'none' is not an integer"):
        with_operator(settings, pack, {"driRenderGID": "none"})
    with pytest.raises(ValueError, match='LLMKube has no setting "driRenderGid" here; use driRenderGID'):
        with_operator(settings, pack, {"driRenderGid": 1})


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(value=ODD, sort=st.sampled_from(["boolean", "integer", "string", "strings", "quantity"]))
def test_any_value_is_of_the_type_of_its_setting_or_an_error(value: Any, sort: Any) -> None:
    setting = Setting(type=sort, docs="d")
    try:
        typed = setting.value(frozen(value))
    except ValueError:
        return
    jsonschema.validate(typed, dict(setting.schema))
    assert setting.value(frozen(typed)) == typed
    assert not isinstance(typed, int) or abs(typed) < 2**63


def test_settings_that_are_fields_stay_fields() -> None:
    pack = built_in()["ome"]
    found = with_operator(DEFAULT_SETTINGS, pack, {"migration": "false", "namespace": "models"})
    assert found == Settings(ome_migration=False, ome_namespace="models")
    assert with_operator(Settings(ome_namespace="given"), pack, {"namespace": "models"}).ome_namespace == "given"
    assert settings_of({"operators": ["ome.migration=false", "aim.documentedPrecision=false"]}) == Settings(
        ome_migration=False, aim_documented_precision=False
    )
    with pytest.raises(ValueError, match=r"ome\.namespace is set twice, also as ome_namespace"):
        folded({"operators": ["ome.namespace=a"], "ome_namespace": "b"})
    with pytest.raises(SettingsError, match="give it as the setting ome_namespace"):
        catalog.load(settings=Settings(operators=(("ome.namespace", "a"),)))


def test_every_declared_setting_of_the_built_in_packs_says_where_the_operator_has_it_from() -> None:
    declared = {f"{api}.{name}": each for api, pack in built_in().items() for name, each in pack.settings.items()}
    nowhere = [name for name, each in declared.items() if not (each.values or each.arguments or each.environment)]
    assert nowhere == ["aim.documentedPrecision", "aim.autoSelection"]
