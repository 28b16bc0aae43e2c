"""`modelgate scan`: the stored objects of a folder, or of a server that lists them page by page."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from reconciler import audit
from reconciler.children import owner_of
from tests.definitions import FETCHED, definitions
from tests.reconciler.apiserver import ApiServer
from tests.shared import ROOT, shared
from webhook.cli import main
from webhook.cli.report.codes import Ignoring
from webhook.cli.scan import table
from webhook.cli.scan.judging import Scan
from webhook.cli.scan.sources import Cluster
from webhook.cluster import LISTED
from webhook.cluster import api as cluster_api
from webhook.cluster.api import Reader
from webhook.cluster.view import APIResource, Kind
from webhook.facts import FIT_FETCHED, WATCHED
from webhook.facts.settings import DEFAULT_SETTINGS

Capture = pytest.CaptureFixture[str]

GOOD = {"source": "pvc://c/m.gguf"}
WARNED = {"source": "pvc://c/m.gguf", "hardware": {"gpu": {"count": 1}}}
REFUSED = {"source": "pvc://c/m.gguf", "format": "onnx"}
FRACTION = {"source": "pvc://c/m.gguf", "hardware": {"memoryFraction": 1.5}}


def model(name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    kind = {"apiVersion": "inference.llmkube.dev/v1alpha1", "kind": "Model"}
    return {**kind, "metadata": {"name": name, "namespace": "ml", **metadata}, "spec": spec}


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """What `kubectl get models -A -o yaml` prints."""
    objects = [model("good", GOOD), model("warned", WARNED), model("refused", REFUSED, uid="u-1")]
    file = tmp_path / "dump.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects}))
    return file


def test_a_dump_is_judged_as_if_it_were_created_now(dump: Path, capsys: Capture) -> None:
    assert main(["scan", "--no-config", str(dump)]) == 1
    out, err = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head.split() == ["OBJECT", "STAMP", "SEVERITY", "CODE", "FINDING"]
    assert [re.split(r" {2,}", row)[:3] for row in rows] == [
        ["Model ml/warned", "none", "warning"],
        ["Model ml/refused", "none", "error"],
    ]
    assert "3 judged, 1 would be refused, 1 with warnings, 3 without a valid stamp, 0 with an outdated one" in err


def test_the_columns_are_aligned_and_an_object_without_findings_is_shown_on_request(
    dump: Path, capsys: Capture
) -> None:
    main(["scan", "--no-config", "-qv", str(dump)])
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert len(lines) == 4
    assert len({re.search(r"\S+ +(error|warning|-) ", line).start() for line in lines[1:]}) == 1  # type: ignore[union-attr]
    assert re.match(r"Model ml/good +none +- +- +-$", lines[1])


def test_the_text_format_has_the_lines_of_the_file(dump: Path, capsys: Capture) -> None:
    main(["scan", "--no-config", "-o", "text", str(dump)])
    found = re.search(rf"^{re.escape(str(dump))}:(\d+):\d+: schema error: spec.format",
                      capsys.readouterr().out, re.MULTILINE)  # fmt: skip
    assert found
    assert "format: onnx" in dump.read_text().splitlines()[int(found[1]) - 1]


def test_stored_objects_get_the_verdicts_of_the_reconciler(capsys: Capture) -> None:
    """Of the samples, the same objects are refused as by the judge itself."""
    main(["scan", "--no-config", "-o", "json", "--exclude=tests", str(shared("samples"))])
    report = json.loads(capsys.readouterr().out)
    schema = json.loads((ROOT / "docs/schemas/check-report.schema.json").read_text())
    jsonschema.validate(report, schema)
    refused = {each["name"] for each in report["objects"] if each["verdict"] == "refused"}
    assert report["summary"]["checked"] > 500
    assert len(refused) > 50
    assert {each["stamp"] for each in report["objects"]} == {"none"}


def test_only_a_kind_or_a_namespace(dump: Path, capsys: Capture) -> None:
    assert main(["scan", "--no-config", "--kind=baseModel", str(dump)]) == 0
    assert "0 judged" in capsys.readouterr().err
    assert main(["scan", "--no-config", "-n", "other", str(dump)]) == 0
    assert main(["scan", "--no-config", "-n", "ml", str(dump)]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--kind=Modle", "x"], 64, "did you mean Model"),
        (["--ignore=LK999", "{dump}"], 64, "there is no rule LK999"),
        (["nowhere.yaml"], 2, "nowhere.yaml: cannot be read"),
        (["-o", "text"], 64, "text is about files"),
        (["-o", "github"], 64, "github is about files"),
        (["--kubeconfig=/nowhere"], 64, "cannot connect to a cluster"),
        (["--context=no-such-context"], 64, "cannot connect to a cluster"),
        (["--admission-policies={folder}", "{dump}"], 2, "no ValidatingAdmissionPolicy"),
    ],
)
def test_wrong_arguments_of_scan_get_their_exit_code_and_message(
    dump: Path, tmp_path: Path, capsys: Capture, arguments: list[str], code: int, text: str
) -> None:
    (tmp_path / "empty").mkdir()
    words = [each.format(dump=dump, folder=tmp_path / "empty") for each in arguments]
    assert main(["scan", "--no-config", *words]) == code
    assert text in capsys.readouterr().err


def test_what_is_not_a_stored_object_is_a_problem_beside_the_verdicts(dump: Path, capsys: Capture) -> None:
    nameless = model("x", GOOD)
    del nameless["metadata"]["name"]
    wrong = {**model("shapeless", GOOD), "spec": "text", "metadata": {"name": "shapeless", "labels": 7}}
    unknown = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
    dump.write_text(dump.read_text() + "".join(f"---\n{json.dumps(each)}\n" for each in (nameless, wrong, unknown)))
    assert main(["scan", "--no-config", str(dump)]) == 2
    out, err = capsys.readouterr()
    assert "metadata.name: Required value: a stored object has a name" in err
    assert "not judged: 1 objects of kinds without rules" in err
    assert out.count("Model default/shapeless") >= 2


def test_a_definition_among_the_files_counts(dump: Path, capsys: Capture) -> None:
    (crd,) = [each for each in definitions() if each["spec"]["names"]["kind"] == "Model"]
    dump.write_text(json.dumps(model("m", FRACTION)))
    main(["scan", "--no-config", str(dump)])
    assert "LK223" in capsys.readouterr().out
    text = json.dumps(crd).replace("memoryFraction", "memoryShare")
    (dump.parent / "crd.json").write_text(text)
    main(["scan", "--no-config", str(dump.parent)])
    out, err = capsys.readouterr()
    assert "LK223" not in out
    assert "warning: the installed definition of Model.v1alpha1.inference.llmkube.dev differs" in " ".join(err.split())


@pytest.mark.parametrize("ignored", ["flag", "annotation"])
def test_a_warning_can_be_left_out_and_an_error_cannot(tmp_path: Path, capsys: Capture, ignored: str) -> None:
    note = {"annotations": {"modelgate.dev/ignore": "LK305"}} if ignored == "annotation" else {}
    flags = ["--ignore=LK305"] if ignored == "flag" else []
    (tmp_path / "m.yaml").write_text(json.dumps(model("m", WARNED, **note)))
    assert main(["scan", "--no-config", "--fail-on=warning", *flags, "-o", "openreports", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "1 warnings ignored" in err


def test_the_configuration_counts(dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (dump.parent / ".modelgate.yaml").write_text("failOn: never\nignore: [LK305]\nprofile: strict\n")
    monkeypatch.chdir(dump.parent)
    assert main(["scan", "dump.yaml"]) == 0
    assert "1 warnings ignored" in capsys.readouterr().err


# A server.


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    monkeypatch.setattr(cluster_api, "PAGE", 2)
    with ApiServer() as running:
        kinds = [*audit.load("standard", DEFAULT_SETTINGS).kinds()]
        others = (APIResource("", "v1", "nodes", "Node", False), APIResource("", "v1", "configmaps", "ConfigMap"))
        crds = APIResource("apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False)
        running.serve(*kinds, *others, crds)
        yield running


def scanned(server: ApiServer, *, kinds: tuple[str, ...] = ("Model",), namespace: str = "") -> tuple[Scan, Cluster]:
    rules = audit.load("standard", DEFAULT_SETTINGS)
    source = Cluster(Reader(server.client()), rules, kinds, namespace)
    return Scan(source, Ignoring(frozenset())), source


def test_a_cluster_is_read_page_by_page_and_only_read(server: ApiServer) -> None:
    for number in range(7):
        server.put("models", model(f"m{number}", REFUSED if number % 2 else GOOD))
    server.requests.clear()
    scan, source = scanned(server)
    names = [each.report.title for each in scan.judged() if each.verdict.causes]
    assert names == ["Model ml/m1", "Model ml/m3", "Model ml/m5"]
    lists = [path for _, path in server.requests if path.endswith("/models")]
    assert len(lists) == 4  # pages of two
    assert {method for method, _ in server.requests} == {"GET"}
    assert source.problems == []


def test_memory_holds_a_page(server: ApiServer) -> None:
    for number in range(5):
        server.put("models", model(f"m{number}", GOOD))
    judged = scanned(server)[0].judged()
    server.requests.clear()
    next(judged)
    next(judged)
    assert len([path for _, path in server.requests if path.endswith("/models")]) == 1
    assert len(list(judged)) == 3


def test_an_expired_list_is_begun_anew_without_what_was_read(server: ApiServer) -> None:
    for number in range(5):
        server.put("models", model(f"m{number}", GOOD))
    scan, source = scanned(server)
    judged = scan.judged()
    seen = [next(judged).report.title, next(judged).report.title]
    server.fail("GET", "/models", 410)
    seen += [each.report.title for each in judged]
    assert seen == [f"Model ml/m{number}" for number in range(5)]
    assert source.problems == []


def test_an_object_that_is_being_deleted_is_not_judged(server: ApiServer) -> None:
    server.put("models", model("going", REFUSED, deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["a/b"]))
    scan, source = scanned(server)
    assert [*scan.judged()] == []
    assert source.skipped == {"objects that are being deleted": 1}


def test_a_kind_that_cannot_be_listed_is_a_problem_and_one_that_is_not_installed_is_not(server: ApiServer) -> None:
    server.put("models", model("m", REFUSED))
    server.fail("GET", "/v1alpha1/openmodels", 403, "forbidden: no right to list")
    server.served = [each for each in server.served or () if each.kind != "BenchmarkJob"]
    scan, source = scanned(server, kinds=("Model", "OpenModel", "BenchmarkJob"))
    assert len([*scan.judged()]) == 1
    (problem,) = source.problems
    assert str(problem).startswith("openmodels.llmaz.io: cannot be listed: 403")
    assert source.skipped == {"kinds that are not installed": 1}


def test_what_rules_look_up_is_read_once(server: ApiServer) -> None:
    image = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMImage"}
    server.put("aimimages", {**image, "metadata": {"name": "llama", "namespace": "ml"}, "spec": {"image": "r/llama:1"}})
    service = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMService"}
    for name in "abc":
        spec = {"aimImageName": "llama", "templateRef": f"missing-{name}"}
        server.put("aimservices", {**service, "metadata": {"name": name, "namespace": "ml"}, "spec": spec})
    server.requests.clear()
    scan, source = scanned(server, kinds=("AIMService",))
    found = [*scan.judged()]
    assert all(any("missing-" in str(warning) for warning in each.verdict.warnings) for each in found)
    assert len(found) == 3
    assert source.problems == []
    lists = [path for _, path in server.requests if path.endswith("/aimservicetemplates")]
    assert len(lists) == 1


def test_what_rules_cannot_look_up_is_one_problem(server: ApiServer) -> None:
    service = {"apiVersion": "aim.silogen.ai/v1alpha1", "kind": "AIMService", "spec": {"aimImageName": "x"}}
    for name in "ab":
        server.put("aimservices", {**service, "metadata": {"name": name, "namespace": "ml"}})
    server.fail("GET", "/v1alpha1/aimimages", 403, "forbidden", times=9)
    scan, source = scanned(server, kinds=("AIMService",))
    assert [*scan.judged()] == []
    (problem,) = source.problems
    assert "AIMService ml/a (and 1 more objects): cannot be judged: its rules read AIMImage objects" in str(problem)


def test_the_installed_definitions_count_and_their_absence_is_a_problem(server: ApiServer) -> None:
    (crd,) = [each for each in definitions() if each["spec"]["names"]["kind"] == "Model"]
    changed = json.loads(json.dumps(crd).replace("memoryFraction", "memoryShare"))
    server.put("customresourcedefinitions", changed)
    server.put("models", model("m", FRACTION))
    scan, _ = scanned(server)
    assert ["LK223" in each.verdict.codes for each in scan.judged()] == [False]
    errors = io.StringIO()
    scan.summarise(errors)
    assert "differs from Modelgate's: without spec.hardware.memoryFraction" in errors.getvalue()
    server.fail("GET", "/customresourcedefinitions", 403, "forbidden", times=20)
    scan, source = scanned(server)
    assert ["LK223" in each.verdict.codes for each in scan.judged()] == [True]
    assert "cannot be read, so that objects are judged by Modelgate's own" in str(source.problems[0])


def test_a_report_belongs_to_its_object(server: ApiServer) -> None:
    stored = server.put("models", model("m", REFUSED))
    scan, _ = scanned(server)
    text = io.StringIO()
    table.write_reports(scan.judged(), text)
    (report,) = yaml.safe_load_all(text.getvalue())
    assert (report["kind"], report["metadata"]["namespace"]) == ("Report", "ml")
    assert report["metadata"]["name"] == f"modelgate-{stored['metadata']['uid']}"
    assert owner_of(report)[0] == Kind("inference.llmkube.dev", "Model")  # type: ignore[index]
    assert report["summary"]["fail"] == len(report["results"]) == 1


def test_the_table_comes_in_blocks_of_growing_width() -> None:
    rows = iter([table._Row("a", "none", "error", "LK201", "x"), table._Row("longer", "none", "-", "-", "-")])
    widths = [0] * 5
    style = table.Style()
    first, second = (next(iter(table._aligned([row], widths, style))) for row in rows)
    assert (first, second) == ("a  none  error  LK201  x", "longer  none  -      -      -")


_LISTED = ("limitranges", "resourcequotas", "deviceclasses")


def test_the_rights_of_the_page_are_those_that_a_scan_uses() -> None:
    role = yaml.safe_load((ROOT / "docs/ci/scan-rights.yaml").read_text())
    listed = {(group, each) for rule in role["rules"] if "list" in rule["verbs"]
              for group in rule["apiGroups"] for each in rule["resources"]}  # fmt: skip
    kinds = {Kind(each.group, each.kind) for each in audit.load("standard", DEFAULT_SETTINGS).kinds()} | WATCHED
    plurals = {kind: f"{kind.kind.lower()}{'es' if kind.kind.endswith('ss') else 's'}" for kind in kinds}
    assert all({(kind.group, "*"), (kind.group, plurals[kind])} & listed for kind in kinds)
    own = {("modelgate.dev", "enforcements"), ("modelgate.dev", "policyexceptions"), ("", "namespaces")}
    assert own <= listed
    assert {group for group, _ in listed - own} == {kind.group for kind in {*kinds, *LISTED}}
    assert {(kind.group, plural) for kind, plural in zip(sorted(LISTED), _LISTED, strict=True)} <= listed
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list"}
    read = {(group, each) for rule in role["rules"] if "get" in rule["verbs"]
            for group in rule["apiGroups"] for each in rule["resources"]}  # fmt: skip
    named = (FETCHED | FIT_FETCHED) - kinds - LISTED.keys()
    plurals |= {kind: f"{kind.kind.lower()}{'es' if kind.kind.endswith('ss') else 's'}" for kind in named}
    assert {(kind.group, plurals[kind]) for kind in named} <= read
