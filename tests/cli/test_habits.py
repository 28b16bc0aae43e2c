"""Habits of the command line: versions, aliases, misspelt names, exit codes, filters of `test`, and `explain`."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.cli.trees import GOOD, RUNTIMES
from tests.shared import ROOT
from webhook import cli
from webhook.cli import COMMANDS, choices, main
from webhook.cli.shell.parser import Once
from webhook.cli.shell.running import parser

Capture = pytest.CaptureFixture[str]

CASES = ROOT / "policies" / "llmkube"


def test_the_version_is_printed(capsys: Capture) -> None:
    assert main(["version"]) == 0
    text = capsys.readouterr().out
    assert re.fullmatch(r"modelgate \d+\.\d+\.\d+ \(cel-python [\d.]+, Python [\d.]+\)\n", text)
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == text


def test_normalize_is_normalise(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(GOOD)
    assert main(["normalise", str(file)]) == 0
    british = capsys.readouterr().out
    assert main(["normalize", str(file)]) == 0
    assert capsys.readouterr().out == british != ""


def flags(parser: argparse.ArgumentParser, command: str = "") -> Iterator[tuple[str, argparse.Action, str]]:
    """Each option of each command, with what it does."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from flags(below, f"{command} {name}".strip())
        for option in action.option_strings:
            yield option, action, command


def test_an_option_that_repeats_in_one_command_repeats_in_each_or_is_refused_a_second_time() -> None:
    options = list(flags(parser(set(COMMANDS))))
    repeated = {option for option, action, _ in options if isinstance(action, argparse._AppendAction)}
    assert {"--policies", "--view", "--kind"} <= repeated
    lost = [
        (option, command)
        for option, action, command in options
        if option in repeated or (action.type is Path and option != "--help")
        if not isinstance(action, argparse._AppendAction | Once)
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serve", "--view", "none", "--view", "live"], "--view is given twice: none and live"),
        (["check", "--config", "a", "--config", "b", "-"], "--config is given twice: a and b"),
        (["test", "--kind", "Model", "--kind", "Runtime"], "--kind is given twice: Model and Runtime"),
        (["chek"], "did you mean check?"),
        (["check", "--veiw", "x", "-"], "did you mean --view"),
        (["check", "-o", "sariff", "-"], "did you mean sarif?"),
        (["export", "polices"], "did you mean policies?"),
        (["check"], "the following arguments are required: FILE"),
    ],
)
def test_a_usage_error_names_what_may_be_meant(capsys: Capture, arguments: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match="64"):
        main(arguments)
    err = capsys.readouterr().err
    assert said in err
    command = f"modelgate {arguments[0]}" if arguments[0] in COMMANDS else "modelgate"
    assert err.startswith(f"{command}: ")
    assert f"`{command} --help`" in err


def test_arguments_may_stand_between_options_in_every_command(tmp_path: Path, capsys: Capture) -> None:
    for name in ("a.yaml", "-b.yaml"):
        (tmp_path / name).write_text(GOOD)
    first, second = (str(tmp_path / name) for name in ("a.yaml", "-b.yaml"))
    assert main(["check", first, "--strict", second, "--color=never"]) == 0
    assert "2 checked" in capsys.readouterr().err
    pack = str(ROOT / "packs" / "gateway-inference")
    assert main(["export", "policies", "--policies", pack, "InferencePool"]) == 0
    between = capsys.readouterr().out
    assert main(["export", "policies", "InferencePool", "--policies", pack]) == 0
    assert capsys.readouterr().out == between
    assert "inferencepool" in between


def test_after_two_dashes_all_are_arguments(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-b.yaml").write_text(GOOD)
    assert main(["check", "--strict", "--color=never", "--", "-b.yaml"]) == 0
    assert "1 checked" in capsys.readouterr().err


@pytest.mark.parametrize(
    "word", ["Model", "MODEL", "models", "models.inference.llmkube.dev", "Model.inference.llmkube.dev"]
)
@pytest.mark.parametrize("command", [["export", "policies"], ["fields"]])
def test_a_kind_has_the_names_that_kubectl_takes(capsys: Capture, command: list[str], word: str) -> None:
    assert main([*command, "model"]) == 0
    whole = capsys.readouterr().out
    assert main([*command, word]) == 0
    assert capsys.readouterr().out == whole
    assert main([*command, "model.other.example"]) == 64


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rule", "LK20"], "there is no rule LK20; did you mean LK2"),
        (["rule", "unknown-feild"], "there is no rule unknown-feild; "),
        (["fields", "modle"], "unknown kind 'modle'; did you mean Model?"),
        (["export", "policies", "Modle"], "unknown kind 'Modle'; did you mean Model?"),
        (["test", "--kind", "Modle"], "--kind: unknown kind 'Modle'; did you mean Model?"),
        (["test", "--run", "("], "--run: not a regular expression: "),
    ],
)
def test_an_unknown_name_is_a_usage_error(capsys: Capture, arguments: list[str], said: str) -> None:
    assert main(arguments) == 64
    assert said in capsys.readouterr().err


def test_the_table_of_exit_codes_is_that_of_the_code(capsys: Capture) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    codes = sorted(value for name in cli.__all__ if isinstance(value := getattr(cli, name), int))
    printed = capsys.readouterr().out.partition("exit codes of all commands:\n")[2]
    assert [int(code) for code in re.findall(r"^  (\d+) ", printed, re.MULTILINE)] == codes
    page = (ROOT / "docs" / "ci.md").read_text()
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == codes


def test_the_reconciler_watches_nodes_only_if_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def nodes(*flags: str) -> str:
        return choices.chosen(parser({"reconcile"}).parse_args(["reconcile", *flags])).nodes

    assert (nodes(), nodes("--nodes=fixed")) == ("off", "fixed")
    monkeypatch.setenv("MODELGATE_NODES", "auto")
    assert nodes() == "auto"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "reconcile"])
def test_every_command_has_help(capsys: Capture, command: str) -> None:
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert capsys.readouterr().out.startswith(f"usage: modelgate {command}")


def test_the_help_of_check_groups_its_flags(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    usage, *parts = re.split(r"\n\n(?=[A-Za-z ]+:\n)", capsys.readouterr().out)
    assert usage.startswith("usage: modelgate check [OPTION ...] FILE ...\n")
    flags = {part.partition(":")[0]: re.findall(r"^  (?:-\w.*, )?(--[\w-]+)", part, re.MULTILINE) for part in parts}
    assert "--view" in flags["what else the cluster has"]
    assert "--fail-on" in flags["what counts"]
    assert [title for title, found in flags.items() if len(found) > 8] == []


def test_every_code_is_listed_and_the_codes_without_a_rule_are_explained(capsys: Capture) -> None:
    assert main(["rule"]) == 0
    listed = capsys.readouterr().out
    assert len(re.findall(r"^(?:LK|LZ|LD|OM|AI)\d{3}  \w", listed, re.MULTILINE)) > 300
    assert main(["rule", "Unknown-Field"]) == 0
    assert "has no such field" in capsys.readouterr().out


def test_one_api_can_be_tested(capsys: Capture) -> None:
    assert main(["test", str(CASES), "--coverage"]) == 0
    passed = int(capsys.readouterr().out.split()[0])
    assert main(["test", str(CASES), "--code", "lk205", "-v"]) == 0
    out = capsys.readouterr().out
    assert 0 < out.count(": passed Model: ") < passed
    where = re.search(rf"^{CASES}/cases/model.yaml:(\d+): passed Model: (.*)$", out, re.MULTILINE)
    assert where is not None
    assert f"name: {where[2]}" in (CASES / "cases" / "model.yaml").read_text().split("\n")[int(where[1]) - 1]


def test_filters_leave_cases_out(capsys: Capture) -> None:
    assert main(["test", str(CASES), "--run", "^Model: .*volume", "--kind=model"]) == 0
    assert re.search(r"^[1-9]\d? passed", capsys.readouterr().out)
    assert main(["test", str(CASES), "--run", "nothing is called so"]) == 2
    assert "no case is found" in capsys.readouterr().err
    assert main(["test", str(CASES), "--coverage", "--run", "volume"]) == 1
    assert "codes that fire in none of these cases: LK101" in capsys.readouterr().out


def test_a_failing_case_has_a_line_and_a_place_in_a_junit_report(tmp_path: Path, capsys: Capture) -> None:
    api = tmp_path / "llmkube"
    for name in ("crds", "cases"):
        (api / name).mkdir(parents=True)
    (api / "crds" / "models.yaml").write_text((CASES / "crds" / "models.yaml").read_text())
    table = {
        "apiVersion": "modelgate.dev/v1alpha1",
        "kind": "Cases",
        "target": {"group": "inference.llmkube.dev", "version": "v1alpha1", "kind": "Model"},
        "cases": [
            {"name": "good", "spec": {"source": "pvc://c/m.gguf"}, "expect": {}},
            {"name": "bad", "spec": {"source": 5}, "expect": {}},
        ],
    }
    text = yaml.safe_dump(table, sort_keys=False)
    (api / "cases" / "model.yaml").write_text(text)
    assert main(["test", str(api)]) == 1
    line = next(number for number, each in enumerate(text.split("\n"), 1) if "name: bad" in each)
    assert f"{api}/cases/model.yaml:{line}: FAILED Model: bad\n" in capsys.readouterr().out
    assert main(["test", str(tmp_path), "-o", "junit"]) == 1
    (suite,) = ET.fromstring(capsys.readouterr().out)
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", "1")
    assert main(["test", str(tmp_path), "-o", "junit", "--fail-only"]) == 1
    (suite,) = ET.fromstring(capsys.readouterr().out)
    assert [case.attrib["name"] for case in suite] == ["Model: bad"]


SERVICE = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata: {name: service}
spec: {model: {name: m}, engine: {}}
---
apiVersion: ome.io/v1beta1
kind: ClusterBaseModel
metadata: {name: m}
spec: {modelFormat: {name: onnx}, modelFramework: {name: f}, storage: {storageUri: "hf://org/m"}}
---
"""
PARTS = """\
---
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMService
metadata: {name: service}
spec: {aimImageName: img, templateRef: t, routing: {enabled: true, routeTemplate: "/{.metadata.namespace}/x"}}
---
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMServiceTemplate
metadata: {name: t}
spec: {aimImageName: img, runtimeConfigName: other}
---
apiVersion: aim.silogen.ai/v1alpha1
kind: AIMClusterImage
metadata: {name: img}
spec: {image: "r/x:1", resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 1Gi}}}
"""


def test_explain_shows_what_is_chosen_and_where_fields_come_from(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(SERVICE + RUNTIMES + PARTS)
    assert main(["explain", str(file)]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    for expected in (
        "runtimes for model m",
        "1 fits ClusterServingRuntime 15 selected",
        f'spec.model.name "m" {file}:4:16',
        'spec.runtime.name "fits" the best of the runtimes that support the model (OM112)',
        "template AIMServiceTemplate t spec.templateRef",
        "image AIMClusterImage img: r/x:1 spec.aimImageName",
        "route /default/x routing of the service, template '/{.metadata.namespace}/x'",
        "resources.requests cpu=1, memory=1Gi service over template over image",
        "spec.replicas 1 default of the CRD's schema",
    ):
        assert expected in lines
    assert any(line.startswith("- other ClusterServingRuntime model format 'mt:onnx:f' not in") for line in lines)


def test_a_runtime_that_would_be_selected_is_also_said_to_be_refused(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "all.yaml"
    text = (ROOT / "docs" / "pictures" / "runtime.yaml").read_text()
    file.write_text(text)
    assert main(["explain", str(file)]) == 0
    assert "refused" not in capsys.readouterr().out
    file.write_text(
        text.replace("modelSizeRange: {min: 1B, max: 10B}", "modelSizeRange: {min: 1B, max: 10B, mix: 1}", 1)
    )
    assert main(["check", str(file)]) == 1
    assert "ClusterServingRuntime sglang-small: REFUSED" in capsys.readouterr().out
    assert main(["explain", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    refused = "refused: unknown-field spec.modelSizeRange.mix: unknown field"
    assert f"1 sglang-small ClusterServingRuntime 30 selected, but {refused}" in out
    assert out.count("refused: ") == 1
    assert main(["explain", "-o", "html", str(file)]) == 0
    assert '<li class="chosen"><div class="node"><b>sglang-small</b>' in capsys.readouterr().out


def test_explain_answers_for_one_field(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "all.yaml"
    file.write_text(SERVICE + RUNTIMES + PARTS)
    assert main(["explain", "--field=spec.runtime", str(file)]) == 0
    out = capsys.readouterr().out
    assert out.count("spec.") == 3
    assert main(["explain", "--field=spec.nothing", str(file)]) == 64
    assert "no object has the field spec.nothing" in capsys.readouterr().err


def test_explain_of_what_refers_to_nothing_says_so(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "m.yaml"
    texts = ("{model: {name: m}}", "{model: {name: m}, runtime: {name: r}}", "{}", "5")
    file.write_text(
        "---\n".join(
            f"apiVersion: ome.io/v1beta1\nkind: InferenceService\nmetadata: {{name: s}}\nspec: {text}\n"
            for text in texts
        )
        + "---\napiVersion: aim.silogen.ai/v1alpha1\nkind: AIMService\nmetadata: {name: s}\nspec: {aimImageName: i}\n"
    )
    assert main(["explain", str(file)]) == 0
    out = capsys.readouterr().out
    assert "No BaseModel or ClusterBaseModel with the name: m" in out
    assert "(not used: the service names r)" in out
    assert "No template reference specified" in out
    file.write_text("a: [")
    assert main(["explain", str(file)]) == 2
