"""A rule of one's own reads another object, by data alone."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from modelgate import Gate, Verdict
from tests.cli.test_packs import PACK
from tests.crds import crd, spec_schema
from tests.files import written
from webhook import catalog
from webhook.admission.errors import LoadError
from webhook.cli import main

Capture = pytest.CaptureFixture[str]

POLICY = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-widget}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Widget}
  references:
  - name: queue
    group: acme.example.com
    kind: Queue
    path: spec.queue
    fields:
      most: {path: spec.most, type: integer}
      colours: {path: spec.colours, type: strings}
      open: {path: spec.open, type: boolean}
  defaults:
  - code: AC101
    path: spec.size
    when: facts.queue.found
    value: facts.queue.most
    because: the most that the queue takes
  validations:
  - code: AC401
    at: spec.queue
    rule: facts.queue.found
    messageExpression: "'there is no Queue ' + shown(facts.queue.name) + ' in the namespace: create it or name another'"
    unseen: "'Queue ' + facts.queue.name"
    docs: A widget of no queue is never made.
  - code: AC402
    when: facts.queue.found && has(object.spec.size)
    at: spec.size
    rule: self <= facts.queue.most
    messageExpression: "'the queue takes ' + string(facts.queue.most) + ' at most; use less'"
    docs: A widget that is too large waits forever.
"""


def definition(kind: str, **properties: str) -> dict[str, Any]:
    schemas = {"array": {"type": "array", "items": {"type": "string"}}}
    return crd(
        "acme.example.com",
        kind,
        spec_schema(**{name: schemas.get(type_, {"type": type_}) for name, type_ in properties.items()}),
    )


def pack_at(folder: Path, policy: str = POLICY) -> Path:
    kinds = (
        definition("Widget", size="integer", queue="string"),
        definition("Queue", most="integer", colours="array", open="boolean"),
    )
    files = {"crds/all.yaml": yaml.safe_dump_all(kinds), "widget.yaml": policy, "pack.yaml": PACK % ""}
    return written(folder / "acme", files)


def an_object(kind: str, name: str, namespace: str = "b", **spec: Any) -> str:
    metadata = {"name": name, "namespace": namespace}
    return yaml.safe_dump({"apiVersion": "acme.example.com/v1", "kind": kind, "metadata": metadata, "spec": spec})


QUEUE = an_object("Queue", "fast", most=5)


def of_widget(gate: Gate, *texts: str) -> Verdict:
    return gate.check_all("---\n".join(texts))[-1]


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(policies=pack_at(tmp_path))


def test_a_rule_compares_with_the_other_object(gate: Gate) -> None:
    assert of_widget(gate, QUEUE, an_object("Widget", "a", queue="fast", size=4)).codes == set()
    assert of_widget(gate, QUEUE, an_object("Widget", "a", queue="fast", size=6)).codes == {"AC402"}


def test_a_default_takes_a_value_of_the_other_object(gate: Gate) -> None:
    assert of_widget(gate, QUEUE, an_object("Widget", "a", queue="fast")).object["spec"]["size"] == 5


def test_a_field_may_say_what_counts_where_it_is_absent(tmp_path: Path) -> None:
    policy = POLICY.replace("type: integer}", "type: integer, default: 100}").replace(
        "type: strings}", "type: strings, default: [red]}"
    )
    gate = Gate(policies=pack_at(tmp_path, policy))
    open_queue = an_object("Queue", "fast")
    assert of_widget(gate, open_queue, an_object("Widget", "a", queue="fast", size=99)).codes == set()
    assert of_widget(gate, open_queue, an_object("Widget", "a", queue="fast", size=101)).codes == {"AC402"}


def test_it_is_looked_up_in_the_namespace_of_the_object(gate: Gate) -> None:
    verdict = of_widget(gate, QUEUE, an_object("Widget", "a", namespace="c", queue="fast", size=6))
    assert verdict.codes == {"AC401"}


def test_without_it_a_check_of_files_only_warns(gate: Gate) -> None:
    verdict = gate.check(an_object("Widget", "a", queue="slow"))
    (finding,) = verdict.findings
    assert (finding.code, str(finding.severity)) == ("AC401", "warning")
    assert "Queue slow is not among the files given" in finding.message


def test_an_object_of_a_wrong_shape_says_nothing(gate: Gate) -> None:
    wrong = QUEUE.replace("most: 5", "most: many")
    assert "AC402" in of_widget(gate, wrong, an_object("Widget", "a", queue="fast", size=6)).codes


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("path: spec.queue\n", "path: spec.queues\n", "acme/widget.yaml:10: spec.references[0].path: "),
        (
            "most: {path: spec.most,",
            "most: {path: spec.max,",
            "fields.most: Queue: no 'max' in spec of the schema, which",
        ),
        (
            "type: strings}",
            "type: integers}",
            "fields.colours: Queue: spec.colours is of type array of string, not inte",
        ),
        ("type: boolean}", "type: string}", "fields.open: Queue: spec.open is of type boolean, not string"),
        ("kind: Queue", "kind: Queu", "acme/widget.yaml:9: spec.references[0].kind: acme.example.com has no Queu here"),
        ("kind: Queue\n", "kind: Queue\n    namespaced: false\n", "Queue is in a namespace: set namespaced: true"),
        ("path: spec.queue\n", "path: spec.queue[*]\n", "no '*' in spec.queue of the schema, which has type string"),
        (
            "most: {path: spec.most,",
            "most: {path: 'spec.most[*]',",
            "has several values: use the type integers or stri",
        ),
        ("path: spec.queue\n", "named: [a]\n    path: spec.queue\n", "set one of path, named, labels and labelsPath"),
        ("path: spec.queue\n", "named: []\n", "set one of path, named, labels and labelsPath, not none"),
        ("path: spec.queue\n", "named: [a]\n    by: spec.most\n", "by needs a path"),
        ("path: spec.queue\n", "named: [A_b]\n", "should match pattern"),
        ("path: spec.queue\n", "labelsPath: spec.queues\n", "references[0].labelsPath: no 'queues' in spec"),
        ("open: {", "items: {", "fields.items has the name of what each"),
        ("type: integer}", "type: int}", "Input should be 'boolean', 'integer'"),
        ("{path: spec.most,", "{", "references[0].fields.most: set either path or expression"),
        ("path: spec.most,", "path: spec.most, expression: object.spec.most,", "fields.most: set either path or expr"),
        ("path: spec.most,", "expression: object.spec.max,", "fields.most.expression: Queue: undefined field 'max'"),
        ("path: spec.most,", "expression: facts.queue.most,", "most.expression: undeclared reference to 'facts'"),
        ("path: spec.most,", "expression: object.spec.colours,", "is of type list(string), not int"),
        ("type: integer}", "type: integer, default: many}", "default: 'many' is not of type integer"),
        ("type: strings}", "type: strings, default: [1]}", "default: [1] is not of type strings"),
        ("kind: Queue", "kind: queue", "should match pattern"),
        ("open: {", "found: {", "fields.found has the name of what each reference has; use another name"),
        ("facts.queue.most\n", "facts.queue.least\n", "undefined field 'least'"),
        ("facts.queue.most\n", "facts.line.most\n", "undefined field 'line'"),
        ("when: facts.queue.found\n", "when: facts.queue.most\n", "spec.defaults[0].when: must evaluate to bool"),
    ],
)
def test_a_mistake_is_an_error_with_its_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in POLICY
    with pytest.raises(LoadError) as caught:
        catalog.load(packs=[pack_at(tmp_path, POLICY.replace(old, new, 1))])
    assert message in str(caught.value)
    assert "acme/widget.yaml:" in str(caught.value)


EXPRESSION = "{expression: \"object.spec.colours.filter(each, each != 'red').map(each, each + '!')\", type: strings}"


def test_a_field_may_be_the_value_of_an_expression_over_the_other_object(tmp_path: Path) -> None:
    policy = POLICY.replace("{path: spec.colours, type: strings}", EXPRESSION).replace(
        "self <= facts.queue.most", "facts.queue.colours.all(each, each != 'blue!')"
    )
    gate = Gate(policies=pack_at(tmp_path, policy))
    for colours, codes in ((["red"], set()), (["red", "blue"], {"AC402"}), ([], set())):
        queue = an_object("Queue", "fast", colours=colours)
        assert of_widget(gate, queue, an_object("Widget", "a", queue="fast", size=1)).codes == codes
    for odd in ({}, {"colours": None}, {"colours": {"blue": 1}}, {"colours": [["blue"]]}):
        queue = an_object("Queue", "fast", **odd)
        assert "AC402" not in of_widget(gate, queue, an_object("Widget", "a", queue="fast", size=1)).codes


def test_an_expression_that_costs_too_much_is_not_judged_and_the_rest_is(tmp_path: Path) -> None:
    loops = "object.spec.colours.map(a, object.spec.colours.map(b, object.spec.colours.map(c, a + b + c)))"
    policy = POLICY.replace("{path: spec.colours,", f'{{expression: "{loops}.map(x, x[0][0])",')
    policy = policy.replace("self <= facts.queue.most", "self <= facts.queue.most || facts.queue.colours.size() > 9")
    gate = Gate(policies=pack_at(tmp_path, policy))
    small, large = (an_object("Queue", "fast", colours=["a"] * number) for number in (2, 300))
    assert of_widget(gate, small, an_object("Widget", "a", queue="fast", size=1)).codes == {"AC402"}
    verdict = of_widget(gate, large, an_object("Widget", "a", queue="fast", size=1))
    (finding,) = verdict.findings
    assert (verdict.allowed, str(finding.severity), finding.code) == (True, "warning", "AC401")
    assert finding.message.startswith("not judged (nor by AC402): Queue objects are too large for an expression")


def test_objects_that_refer_to_each_other_in_a_circle_are_judged_one_by_one(tmp_path: Path) -> None:
    policy = POLICY.replace("kind: Queue", "kind: Widget").replace("spec.most", "spec.size")
    policy = policy.replace("colours: {path: spec.colours, type: strings}", "colours: {path: spec.queue, type: string}")
    gate = Gate(policies=pack_at(tmp_path, policy.replace("      open: {path: spec.open, type: boolean}\n", "")))
    circle = [
        an_object("Widget", a, queue=b, size=size) for a, b, size in (("a", "b", 1), ("b", "c", 1), ("c", "a", 2))
    ]
    assert [sorted(each.codes) for each in gate.check_all("---\n".join(circle))] == [[], [], ["AC402"]]


ALIKE = """\
apiVersion: modelgate.dev/v1alpha1
kind: Policy
metadata: {name: acme-alike}
spec:
  target: {group: acme.example.com, versions: [v1], kind: Widget}
  references:
  - name: alike
    group: acme.example.com
    kind: Widget
    path: spec.queue
    by: spec.queue
    fields:
      size: {path: spec.size, type: integer}
  validations:
  - code: AC403
    at: spec.queue
    rule: "!facts.alike.found"
    messageExpression: "facts.alike.names.join(', ') + ' have ' + facts.alike.name + ', ' + string(facts.alike.size)"
    docs: A queue takes one widget.
"""


def test_others_are_looked_for_by_a_field(tmp_path: Path) -> None:
    gate = Gate(policies=pack_at(tmp_path, ALIKE))
    alone = an_object("Widget", "a", queue="fast", size=1)
    others = [an_object("Widget", "b", queue="slow"), an_object("Widget", "a", namespace="c", queue="fast")]
    assert of_widget(gate, *others, an_object("Queue", "fast"), alone).codes == set()
    assert of_widget(gate, an_object("Widget", "b"), an_object("Widget", "a")).codes == set()
    alike = [an_object("Widget", name, queue="fast", size=ord(name)) for name in "gfedcb"]
    (finding,) = of_widget(gate, *alike, alone).findings
    assert finding.message == f'Invalid value: "fast": b, c, d, e, f have fast, {ord("b")}'


def test_they_may_be_looked_for_in_all_namespaces(tmp_path: Path) -> None:
    gate = Gate(
        policies=pack_at(tmp_path, ALIKE.replace("by: spec.queue\n", "by: spec.queue\n    namespaced: false\n"))
    )
    other = an_object("Widget", "a", namespace="c", queue="fast")
    assert of_widget(gate, other, an_object("Widget", "a", queue="fast")).codes == {"AC403"}


def test_what_is_unknown_of_another_one_decides_nothing(tmp_path: Path) -> None:
    gate = Gate(policies=pack_at(tmp_path, ALIKE))
    alike = an_object("Widget", "b", queue="fast")
    unknown = an_object("Widget", "c", queue="${QUEUE}")
    assert of_widget(gate, alike, unknown, an_object("Widget", "a", queue="fast")).codes == set()


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("by: spec.queues", "spec.references[0].by: Widget: no 'queues' in spec of the schema, which has"),
        ("by: spec.size", "spec.references[0].by: Widget: spec.size is of type integer, not string"),
        (
            "by: spec.queue[*]",
            "spec.references[0].by: Widget: no '*' in spec.queue of the schema, which has type string",
        ),
    ],
)
def test_a_field_to_look_by_is_that_of_a_text(tmp_path: Path, new: str, message: str) -> None:
    with pytest.raises(LoadError) as caught:
        catalog.load(packs=[pack_at(tmp_path, ALIKE.replace("by: spec.queue", new))])
    assert message in str(caught.value)


def test_two_references_of_one_name_are_an_error(tmp_path: Path) -> None:
    twice = POLICY.replace("  defaults:\n", "  - {name: queue, kind: ConfigMap, path: spec.queue}\n  defaults:\n", 1)
    with pytest.raises(LoadError) as caught:
        catalog.load(packs=[pack_at(tmp_path, twice)])
    assert "acme/widget.yaml:15: spec.references[1].name: Widget has a fact queue already" in str(caught.value)


def test_the_command_explains_it(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text("---\n".join([QUEUE, an_object("Widget", "a", queue="fast", size=6)]))
    assert main(["check", "--no-config", str(file), "--policies", str(pack_at(tmp_path))]) == 1
    assert "AC402 error: spec.size: " in capsys.readouterr().out


ITEMS = "path: spec.ports[*].name\n    when: object.spec.queue != '' && !has(self.name)\n    value: \"'p'\""


def test_an_unknown_value_leaves_a_default_of_items_undecided(tmp_path: Path) -> None:
    policy = POLICY.replace("path: spec.size\n    when: facts.queue.found\n    value: facts.queue.most", ITEMS)
    ports = {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}}
    folder = pack_at(tmp_path, policy)
    kinds = [*yaml.safe_load_all((folder / "crds/all.yaml").read_text())]
    kinds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["ports"] = ports
    (folder / "crds/all.yaml").write_text(yaml.safe_dump_all(kinds))
    gate = Gate(policies=folder)
    known = of_widget(gate, QUEUE, an_object("Widget", "a", queue="fast", ports=[{}]))
    assert known.object["spec"]["ports"] == [{"name": "p"}]
    unknown = of_widget(gate, QUEUE, an_object("Widget", "a", queue="${QUEUE}", ports=[{}]))
    assert unknown.codes == set()
