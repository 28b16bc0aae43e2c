"""`check` on a repository: manifests are judged, what is broken is named, the rest is skipped and counted."""

import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.trees import BROKEN, GOOD, repository
from tests.shared import shared
from webhook.cli import main
from webhook.manifests.reading import Reading, read_paths

Capture = pytest.CaptureFixture[str]


def test_a_repository_is_read_and_what_is_not_a_manifest_is_counted(tmp_path: Path, capsys: Capture) -> None:
    assert main(["check", str(repository(tmp_path))]) == 0
    out, err = capsys.readouterr()
    assert out.replace(f"{tmp_path}/", "").splitlines() == [
        "base/model.yaml:1: Model base: accepted",
        "manifests/model.yaml:1: Model good: accepted",
    ]
    assert "2 checked, 0 refused, 0 with warnings, 1 skipped\n" in err
    counted = "1 Helm template, 2 hidden, 2 kustomization, 1 kustomize patch, 6 not a manifest"
    assert f"not read: {counted}\n" in err
    assert "not checked: 1 apps/v1 Deployment: a part of an object, such as a patch" in err
    assert f"{tmp_path / 'charts' / 'mine'}: Helm chart: pipe `helm template " in err


def test_thirteen_broken_files_cost_only_themselves(tmp_path: Path, capsys: Capture) -> None:
    repository(tmp_path)
    for name, content in BROKEN.items():
        (tmp_path / "manifests" / name).write_bytes(content)
    assert main(["check", "--strict", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert "Model good: accepted" in out
    assert "Model base: accepted" in out
    assert [name for name in BROKEN if f"/{name}" not in err] == []
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("template.yaml", ":2: looks like a Helm template: pipe `helm template` into `modelgate check -`"),
        ("utf16.yaml", ": cannot be read: not UTF-8 text but UTF-16: save it as UTF-8"),
        ("twice.yaml", ':2: duplicate key "a": kubectl takes the last one, kustomize refuses the file'),
        ("headless.yaml", ":1: apiVersion: Required value"),
        ("kindless.yaml", ":1: kind: Required value"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(tmp_path: Path, capsys: Capture, name: str, said: str) -> None:
    (tmp_path / name).write_bytes(BROKEN[name])
    assert main(["check", "--strict", str(tmp_path)]) == 2
    assert f"{tmp_path / name}{said}\n" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(set(BROKEN) - {"template.yaml", "headless.yaml"}))
@pytest.mark.parametrize("named", [False, True])
def test_a_file_that_cannot_be_read_counts_only_if_it_may_hold_a_kind_with_rules(
    tmp_path: Path, capsys: Capture, name: str, named: bool
) -> None:
    path, good = tmp_path / name, tmp_path / "a-good.yaml"
    good.write_text(GOOD)
    path.write_bytes(BROKEN[name])
    asked = [str(good), str(path)] if named else [str(tmp_path)]
    assert main(["check", "-v", *asked]) == 0
    err = capsys.readouterr().err
    assert "not read: 1 not " in err  # "readable", or "a manifest"
    path.write_bytes(b'# apiVersion: "ome.io/v1beta1"\n' * (name != "utf16.yaml") + BROKEN[name])
    if name == "utf16.yaml":
        path.write_bytes("apiVersion: ome.io/v1beta1\n".encode("utf-16"))
    assert main(["check", *asked]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_named_file_is_read_as_one_in_a_folder(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, model = tmp_path / "values.yaml", tmp_path / "model.yaml"
    values.write_text("replicas: 1\n")
    model.write_text(GOOD)
    assert main(["check", str(values), str(model)]) == 0
    assert "not read: 1 not a manifest" in capsys.readouterr().err
    assert main(["check", str(values)]) == 0
    assert "0 checked: no object is of a kind that Modelgate knows" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"replicas: {{ .Values.n }}\n")))
    assert main(["check", "-"]) == 0
    assert "not read: 1 not readable" in capsys.readouterr().err
    chart = repository(tmp_path / "tree") / "charts" / "mine"
    for path in ("templates/model.yaml", "templates"):
        assert main(["check", str(chart / path)]) == 0
        err = capsys.readouterr().err
        assert "not read: 1 Helm template" in err
        assert f"{chart}: Helm chart: pipe `helm template" in err


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--min-checked=1",), 2), (("--strict",), 2)])
def test_a_job_that_checks_nothing_can_fail(tmp_path: Path, capsys: Capture, flags: tuple[str, ...], code: int) -> None:
    (tmp_path / "values.yaml").write_text("replicas: 1\n")
    assert main(["check", *flags, str(tmp_path)]) == code
    err = capsys.readouterr().err
    assert ("0 checked, but at least 1 must be (--min-checked)" in err) == (code == 2)
    (tmp_path / "m.yaml").write_text(GOOD)
    assert main(["check", *flags, str(tmp_path)]) == 0
    assert main(["check", *flags, "--min-checked=2", str(tmp_path)]) == 2
    assert main(["check", "--strict", "--min-checked=0", str(tmp_path / "values.yaml")]) == 0
    with pytest.raises(SystemExit, match="64"):
        main(["check", "--min-checked=-1", str(tmp_path)])


@pytest.mark.parametrize("pattern", ["manifests", "manifests/*", "*/model.yaml", "model.yaml", "mod*.yaml"])
def test_excluded_files_are_not_read(tmp_path: Path, capsys: Capture, pattern: str) -> None:
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / "model.yaml").write_text("a: [")
    (tmp_path / "good.yaml").write_text(GOOD)
    assert main(["check", "--exclude", pattern, str(tmp_path)]) == 0
    assert "not read: 1 excluded" in capsys.readouterr().err
    named = str(tmp_path / "manifests" / "model.yaml")
    assert main(["check", "--exclude", pattern, named, str(tmp_path / "good.yaml")]) == 0


OTHER_USER = 65534


@contextmanager
def as_a_user() -> Iterator[Path]:
    """An own folder and the rights of a user who is not root: root reads everything."""
    folder, was = Path(tempfile.mkdtemp()), os.geteuid()
    try:
        if was == 0:
            os.chown(folder, OTHER_USER, -1)
            os.seteuid(OTHER_USER)
        yield folder
    finally:
        os.seteuid(was)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_read_costs_itself(capsys: Capture) -> None:
    with as_a_user() as own:
        (own / "locked").mkdir(mode=0)
        (own / "good.yaml").write_text(GOOD)
        assert main(["check", str(own)]) == 2
    out, err = capsys.readouterr()
    assert "Model good: accepted" in out
    assert f"{own / 'locked'}: cannot be read: Permission denied" in err


@pytest.mark.skipif(not (shutil.which("kustomize") or shutil.which("kubectl")), reason="needs kustomize or kubectl")
def test_kustomizations_are_built_once(tmp_path: Path, capsys: Capture) -> None:
    assert main(["check", "--kustomize", str(repository(tmp_path))]) == 0
    out, err = capsys.readouterr()
    assert f"{tmp_path / 'base' / 'model.yaml'}:1: Model big-base: accepted" in out
    assert "Model base: " not in out
    assert "1 kustomize input" in err
    (tmp_path / "base" / "kustomization.yaml").write_text("resources: [nowhere.yaml]\n")
    assert main(["check", "--kustomize", str(tmp_path)]) == 2
    assert "overlay/kustomization.yaml: cannot be built: " in capsys.readouterr().err


PRETTY = json.dumps(
    {
        "apiVersion": "inference.llmkube.dev/v1alpha1",
        "kind": "Model",
        "metadata": {"name": "a😀"},
        "spec": {"source": "pvc://c/m.gguf", "format": "onnx"},
    },
    indent=2,
)


def test_pretty_json_has_true_lines(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.json"
    file.write_text(PRETTY)
    main(["check", str(file)])
    assert f"{file}:9:5: schema error: spec.format: " in capsys.readouterr().out
    file.write_text('{"apiVersion": "v1",\n "kind": "List",\n "items": [\n' + PRETTY + "]}")
    main(["check", str(file)])
    out = capsys.readouterr().out
    assert f"{file}:4: Model a😀: REFUSED" in out
    assert f"{file}:12:5: schema error: spec.format: " in out


@pytest.mark.parametrize("separator", ["\n", "", " \n\n"])
def test_concatenated_json_is_read(tmp_path: Path, capsys: Capture, separator: str) -> None:
    file = tmp_path / "m.json"
    file.write_text(separator.join([PRETTY, PRETTY, '{"apiVersion": "v1", "kind": "Endpoints"}']))
    assert main(["check", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out.count("schema error: spec.format") == 2
    assert f"{file}:{9 + PRETTY.count(chr(10)) + separator.count(chr(10))}:5: schema error: spec.format" in out
    assert "2 checked, 2 refused" in err


def test_a_broken_line_of_ndjson_costs_itself(tmp_path: Path, capsys: Capture) -> None:
    line = json.dumps(json.loads(PRETTY))
    file = tmp_path / "m.ndjson"
    file.write_text(f'{line}\n{{"a": \n{line}\n')
    assert main(["check", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (f"{file}:1: " in out, f"{file}:3: " in out) == (True, True)
    assert f"{file}:2: " in err or f"{file}:3: " in err


def test_the_samples_are_all_judged(capsys: Capture) -> None:
    samples = shared("samples")
    assert main(["check", str(samples)]) == 1
    out, err = capsys.readouterr()
    judged = re.compile(r": (accepted|REFUSED)(: judged as of [^:]*)?$|: skipped: ")
    verdicts = sum(judged.search(line) is not None for line in out.splitlines())
    assert verdicts == len(read_paths([samples], Reading()).documents) > 600
    assert f"{verdicts} checked, " in err


MODEL = """\
apiVersion: llmaz.io/v1alpha1
kind: OpenModel
metadata: {name: qwen}
spec:
  familyName: qwen
  source: {modelHub: {modelID: Qwen/Qwen2-0.5B}}
  inferenceConfig:
    flavors:
"""
READ_AS_KUBECTL = {
    "a key beside a merge": MODEL
    + "    - &flavor {name: a10, limits: {nvidia.com/gpu: 1}}\n    - {<<: *flavor, name: a100}\n",
    "an anchor again": MODEL
    + "    - {name: &gpu a10, limits: {nvidia.com/gpu: 1}, nodeSelector: {gpu: *gpu}}\n"
    + "    - {name: &gpu a100, limits: {nvidia.com/gpu: 1}, nodeSelector: {gpu: *gpu}}\n",
    "a typed list": "apiVersion: llmaz.io/v1alpha1\nkind: OpenModelList\nitems:\n- metadata: {name: item}\n"
    "  spec: {familyName: qwen, source: {modelHub: {modelID: Qwen/Qwen2-0.5B}}}\n",
    "a separator with a comment": f"# first\n--- # the model\n{GOOD}---   \n--- # nothing\n",
}


@pytest.mark.parametrize("name", READ_AS_KUBECTL)
@pytest.mark.parametrize("folder", [True, False])
def test_what_kubectl_reads_is_judged(tmp_path: Path, capsys: Capture, name: str, *, folder: bool) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(READ_AS_KUBECTL[name])
    assert main(["check", str(tmp_path if folder else file)]) == 0
    assert "1 checked, 0 refused" in capsys.readouterr().err


def test_an_item_of_a_typed_list_is_judged_at_its_line(tmp_path: Path, capsys: Capture) -> None:
    """In a folder it was skipped as what is not a manifest."""
    (tmp_path / "m.yaml").write_text(READ_AS_KUBECTL["a typed list"].replace("familyName", "familyNaem"))
    assert main(["check", str(tmp_path)]) == 1
    assert "m.yaml:5:10: unknown-field error: spec.familyNaem: unknown field" in capsys.readouterr().out


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  values:
    secret: "{{ .Release.Name }}-secret"
    liveness: &probe {enabled: true, spec: {period: 10}}
    readiness:
      <<: *probe
      spec: {period: 5}
"""


def test_braces_in_quotes_do_not_make_a_template(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(RELEASE)
    assert main(["check", str(file)]) == 0
    file.write_text(f"{RELEASE}      spec: {{}}\n")
    assert main(["check", "--strict", str(file)]) == 2
    said = f'{file}:11: duplicate key "spec": kubectl takes the last one, kustomize refuses the file\n'
    assert said in capsys.readouterr().err


def test_a_key_twice_is_a_finding_of_its_object_beside_the_others(tmp_path: Path, capsys: Capture) -> None:
    twice = GOOD.replace("spec: {", "spec: {source: a, fromat: gguf, ")
    foreign = "apiVersion: ome.io/v1beta1\nkind: AcceleratorClass\nmetadata: {name: a, name: b}\n"
    (tmp_path / "m.yaml").write_text(f"{twice}---\n{foreign}---\n{GOOD}")
    (tmp_path / "m.json").write_text(
        '{"apiVersion": "v1", "kind": "List", "items": [\n' + PRETTY.replace('"format"', '"source": 1, "format"') + "]}"
    )
    assert main(["check", "--color=never", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    said = 'spec.source: duplicate key "source": kubectl takes the last one, kustomize refuses the file'
    assert re.findall(r"(m\.\w+:\d+:\d+): (\S+) error: ([\w.]+)", out) == [
        ("m.json:6:5", "schema", "metadata.name"),
        ("m.json:10:5", "schema", "spec.source"),
        ("m.json:10:5", "yaml", "spec.source"),
        ("m.json:10:18", "schema", "spec.format"),
        ("m.yaml:4:19", "unknown-field", "spec.fromat"),
        ("m.yaml:4:33", "yaml", "spec.source"),
    ]
    assert said in out
    assert "3 checked, 2 refused, 0 with warnings, 1 skipped" in err
    assert "not read: 1 not readable" in err
    assert main(["check", "--strict", str(tmp_path)]) == 2
    assert 'm.yaml:8: duplicate key "name"' in capsys.readouterr().err
    assert main(["normalise", str(tmp_path)]) in {1, 2}


@pytest.mark.parametrize("key", ["apiversion", "ApiVersion", "api_version"])
def test_a_key_in_other_letters_is_named(tmp_path: Path, capsys: Capture, key: str) -> None:
    (tmp_path / "m.yaml").write_text(GOOD.replace("apiVersion", key))
    assert main(["check", str(tmp_path)]) == 2
    assert f'm.yaml:1: apiVersion: Required value; the key is "apiVersion", not "{key}"' in capsys.readouterr().err


def test_what_kustomize_reads_otherwise_is_a_warning_at_its_place(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD.replace("name: good", "name: good, labels: {since: 2024-01-02}"))
    assert main(["check", str(file)]) == 0
    warning = "kubectl reads 2024-01-02 as text, kustomize writes it anew as a time: put it in quotes"
    assert f"{file}:3:40: yaml warning: metadata.labels.since: {warning}\n" in capsys.readouterr().out
    assert main(["check", "--fail-on", "warning", str(file)]) == 1
    assert main(["check", "--fail-on", "warning", "--ignore", "yaml", str(file)]) == 0


def test_a_key_that_is_a_boolean_is_explained(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"{GOOD}y: 1\n")
    assert main(["check", str(file)]) == 1
    out = capsys.readouterr().out
    assert "true: unknown field\n  help: YAML reads the key y as true: put it in quotes" in out
    assert "yaml warning" not in out


@pytest.mark.parametrize(
    ("text", "line"),
    [("spec:\n\tsource: x\n", 3), ("spec:\n  source: x\n  \tformat: y\n", 4), ("spec:\n  - é\n\t- b\n", 4)],
)
def test_a_tab_in_the_indentation_is_named(tmp_path: Path, capsys: Capture, text: str, line: int) -> None:
    (tmp_path / "m.yaml").write_text(f"apiVersion: inference.llmkube.dev/v1alpha1\n{text}")
    assert main(["check", str(tmp_path / "m.yaml")]) == 2
    assert f"m.yaml:{line}: a tab in the indentation: YAML takes only spaces" in capsys.readouterr().err
