"""`python -m tests.lsp.latency`: how long an editor waits, in a tree of 1,300 files, as a table.

The file has 500 lines with objects of several kinds. Each time is measured by a client over pipes: from the request to
the answer, or from a change to its findings, which the server holds back for 50 ms.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.lsp.client import Editor, between

FILES = 1_300
LINES = 500

MODEL = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: Model
metadata:
  name: model-{0}
  namespace: team-{1}
  labels:
    team: team-{1}
spec:
  source: https://example.com/models/model-{0}.gguf
  format: gguf
  quantization: Q4_K_M
  hardware:
    accelerator: cuda
    gpu:
      enabled: true
      count: 1
      vendor: nvidia
      memory: 16Gi
  resources:
    cpu: "2"
    memory: 4Gi
"""
SERVICE = """\
apiVersion: inference.llmkube.dev/v1alpha1
kind: InferenceService
metadata:
  name: service-{0}
  namespace: team-{1}
spec:
  modelRef: model-{0}
  replicas: 2
  image: ghcr.io/ggml-org/llama.cpp:server-cuda
  contextSize: 8192
  endpoint:
    port: 8080
    type: ClusterIP
  resources:
    gpu: 1
    cpu: "4"
    memory: 16Gi
  nodeSelector:
    pool: gpu
  env:
  - name: LLAMA_ARG_THREADS
    value: "8"
"""
OME = """\
apiVersion: ome.io/v1beta1
kind: InferenceService
metadata:
  name: ome-{0}
  namespace: team-{1}
spec:
  model:
    name: base-{0}
    kind: ClusterBaseModel
  engine:
    minReplicas: 1
    maxReplicas: 2
"""
OTHER = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{0}
  namespace: team-{1}
data:
  key: value
"""


def tree(folder: Path, files: int) -> None:
    """Files of two objects each, as a repository of GitOps has them; `big.yaml` is the file that is edited."""
    kinds = (MODEL, SERVICE, OME, OTHER)
    for number in range(files - 1):
        place = folder / f"team-{number % 20}"
        place.mkdir(exist_ok=True)
        texts = (kinds[(number + step) % len(kinds)].format(number, number % 20) for step in (0, 1))
        (place / f"file-{number}.yaml").write_text("---\n".join(texts))
    objects, lines = list[str](), 0
    while lines < LINES:
        objects.append((MODEL, SERVICE)[len(objects) % 2].format(f"big-{len(objects) // 2}", 1))
        lines = "---\n".join(objects).count("\n")
    (folder / "big.yaml").write_text("---\n".join(objects))


def measured(what: Callable[[int], object], times: int) -> tuple[float, float]:
    """The median and the longest of some calls, in milliseconds."""
    taken = []
    for number in range(times):
        start = time.perf_counter()
        what(number)
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken), max(taken)


def cpu(editor: Editor) -> float:
    """The CPU time that the server has taken, in milliseconds."""
    fields = Path(f"/proc/{editor.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--times", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tree(folder, options.files)
        start = time.perf_counter()
        with Editor(folder) as editor:
            editor.open("big.yaml")
            print("| question | median | longest | CPU time of the server |\n|---|---|---|---|")
            seconds = time.perf_counter() - start
            print(f"| from the start to the first findings | {seconds:.1f} s | | {cpu(editor) / 1000:.1f} s |")
            for words, ask in questions(editor, folder):
                before = cpu(editor)
                median, longest = measured(ask, options.times)
                each = (cpu(editor) - before) / options.times
                print(f"| {words} | {median:.0f} ms | {longest:.0f} ms | {each:.0f} ms |", flush=True)
            status = Path(f"/proc/{editor.process.pid}/status").read_text()
            print(f"| memory | {int(status.split('VmRSS:')[1].split()[0]) // 1024} MiB | | |")


def questions(editor: Editor, folder: Path) -> list[tuple[str, Callable[[int], object]]]:
    lines = (folder / "big.yaml").read_text().split("\n")
    row = next(number for number, line in enumerate(lines) if "modelRef" in line)
    source = next(number for number, line in enumerate(lines) if "quantization" in line)
    everything = between((0, 0), (len(lines), 0))
    asked = {"range": between((source, 4), (source, 4)), "context": {"diagnostics": []}}

    def change(number: int) -> None:
        """Type a letter without waiting for the findings."""
        letter = "x" if number % 2 == 0 else ""
        start, end = ((source, 2), (source, 2)) if number % 2 == 0 else ((source, 2), (source, 3))
        editor.type("big.yaml", letter, start, end)

    def then(question: Callable[[int], object]) -> Callable[[int], object]:
        def both(number: int) -> object:
            change(number)
            return question(number)

        return both

    return [
        ("findings after a letter", change),
        ("a letter, its findings, and a hover", then(lambda _: editor.at("hover", "big.yaml", (row, 5)))),
        ("hover", lambda _: editor.at("hover", "big.yaml", (row, 5))),
        ("completion of a field", lambda _: editor.at("completion", "big.yaml", (source, 2))),
        ("completion of a name", lambda _: editor.at("completion", "big.yaml", (row, 12))),
        ("inlay hints of the file", lambda _: editor.whole("inlayHint", "big.yaml", range=everything)),
        ("a letter, its findings, and code actions", then(lambda _: editor.whole("codeAction", "big.yaml", **asked))),
        ("symbols of the file", lambda _: editor.whole("documentSymbol", "big.yaml")),
        ("go to a definition", lambda _: editor.at("definition", "big.yaml", (row, 14))),
        (
            "references in all files",
            lambda _: editor.at("references", "big.yaml", (row, 14), context={"includeDeclaration": True}),
        ),
        ("rename in all files", lambda _: editor.at("rename", "big.yaml", (row, 14), newName="other")),
    ]


if __name__ == "__main__":
    main()
