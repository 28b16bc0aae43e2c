"""AIM's own black-box tests (Chainsaw) against a real API server with the gate and the reconciler.

    python -m tests.e2e.chainsaw SUITE --crds FOLDER [--chainsaw PROGRAM] [--only REGEX]

SUITE is `test/chainsaw/tests/aim` of silogen/kaiwo at the revision of the API document, FOLDER holds the definitions of
KServe and Gateway API. Upstream's tests need a node with an AMD GPU. Here no pod runs: for each template whose
discovery Job was made, the result of the discovery is written into the status by hand, as it would be parsed from the
pod's log. It exits with 0 if just the tests of ``IMPOSSIBLE`` do not pass.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

import yaml

from tests.e2e.assets import CACHE, assets
from tests.e2e.crds import install_crds
from tests.e2e.gate import Gate
from tests.e2e.kubectl import Kubectl
from tests.e2e.plane import Plane
from tests.e2e.reconciling import Reconciler
from tests.e2e.seeing import with_view

IMPOSSIBLE: Final[dict[str, str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())

RESULT: Final[dict[str, Any]] = {
    "status": "Available",
    "modelSources": [
        {
            "name": "amd/Llama-3.1-8B-Instruct-FP8-KV",
            "sourceUri": "hf://amd/Llama-3.1-8B-Instruct-FP8-KV",
            "size": "9094593249",
        }
    ],
    "profile": {
        "metadata": {"engine": "vllm", "gpu": "MI300X", "precision": "fp8", "gpu_count": 1, "metric": "latency"},
        "engine_args": {
            "distributed_executor_backend": "mp",
            "gpu-memory-utilization": 0.95,
            "tensor-parallel-size": 1,
        },
        "env_vars": {
            "HIP_FORCE_DEV_KERNARG": "1",
            "NCCL_MIN_NCHANNELS": "112",
            "PYTORCH_TUNABLEOP_ENABLED": "1",
            "PYTORCH_TUNABLEOP_TUNING": "0",
            "PYTORCH_TUNABLEOP_VERBOSE": "1",
            "TORCH_BLAS_PREFER_HIPBLASLT": "1",
            "VLLM_DO_NOT_TRACK": "1",
            "VLLM_USE_TRITON_FLASH_ATTN": "0",
            "VLLM_USE_V1": "0",
        },
    },
}
"""What the image of the tests prints on an MI300X: upstream's tests assert it."""

DELAY: Final = 4.0
"""Seconds that a discovery takes: long enough that a test sees it run, less than the shortest timeout."""

SHARED: Final = ("default-cluster-image.yaml", "default-cluster-template.yaml")
SETS: Final = ("reconciler.apis.aim=true", "reconciler.namespaces={*}")


def main() -> int:
    options = _options()
    with Plane(assets("plane")) as plane:
        install_crds(plane.kubectl)
        for file in sorted(options.crds.glob("*.yaml")):
            plane.kubectl("apply", "--server-side", "-f", str(file))
        plane.kubectl("create", "namespace", "kaiwo-system")
        reconciler = Reconciler(plane, "--profile=standard", "--apis=aim", sets=SETS, name="reconciler")
        with Gate(plane) as gate, with_view(plane, gate), reconciler:
            code = _tested(options, plane)
            faults = [line for line in reconciler.log().splitlines() if "forbidden" in line or "Traceback" in line]
            print(f"{len(faults)} faults in the log of the reconciler", *faults[:5], sep="\n")
            return code or bool(faults)


def _tested(options: argparse.Namespace, plane: Plane) -> int:
    stop = threading.Event()
    thread = threading.Thread(target=_discover, args=(plane.kubectl, stop))
    thread.start()
    try:
        for name in SHARED:
            plane.kubectl("apply", "-f", str(options.suite / "service" / "_shared" / name))
        time.sleep(2 * DELAY)
        return _report(options, _run(options, plane))
    finally:
        stop.set()
        thread.join()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.chainsaw", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("suite", type=Path, metavar="SUITE", help="the folder of upstream's tests")
    parser.add_argument(
        "--crds", type=Path, required=True, metavar="FOLDER", help="definitions of KServe and Gateway API"
    )
    program = CACHE.parent / "chainsaw"
    parser.add_argument(
        "--chainsaw", type=Path, default=program, help=f"the program (default {program.name} in the cache)"
    )
    parser.add_argument("--only", default="", metavar="REGEX", help="the tests to run, by folder")
    return parser.parse_args()


def _discover(kubectl: Kubectl, stop: threading.Event) -> None:
    """Write the result of each discovery, some seconds after it began."""
    began: dict[str, float] = {}
    while not stop.wait(0.5):
        for kind in ("aimservicetemplates", "aimclusterservicetemplates"):
            for each in kubectl.json("get", kind, "--all-namespaces")["items"]:
                uid, metadata = each["metadata"]["uid"], each["metadata"]
                if (each.get("status") or {}).get("status") != "Progressing":
                    continue
                if time.monotonic() - began.setdefault(uid, time.monotonic()) < DELAY:
                    continue
                namespace = (f"--namespace={metadata['namespace']}",) if "namespace" in metadata else ()
                # Under the name of the reconciler, because it is its work that is done here.
                flags = ("--subresource=status", "--field-manager=modelgate", *namespace)
                patch = json.dumps({"status": RESULT})
                kubectl.run("patch", kind, metadata["name"], "--type=merge", "-p", patch, *flags)


def _run(options: argparse.Namespace, plane: Plane) -> list[dict[str, Any]]:
    """The tests of Chainsaw's report."""
    report = plane.folder / "chainsaw-report.json"
    command = [str(options.chainsaw), "test", "--test-dir", str(options.suite), "--parallel", "1", "--no-color"]
    command += [
        "--full-name",
        "--report-format",
        "JSON",
        "--report-name",
        report.stem,
        "--report-path",
        str(report.parent),
    ]
    if options.only:
        command += ["--include-test-regex", f"chainsaw/.*({options.only})"]
    environment = os.environ | {"KUBECONFIG": str(plane.kubeconfig), "HOME": str(plane.folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not report.exists():
        sys.exit(f"{done.stdout}\n{done.stderr}")
    (plane.folder / "suite.log").write_text(done.stdout)
    found: list[dict[str, Any]] = json.loads(report.read_text())["tests"]
    return found


def _report(options: argparse.Namespace, tests: list[dict[str, Any]]) -> int:
    bad = 0
    for each in sorted(tests, key=lambda test: test["basePath"]):
        name = Path(each["basePath"]).relative_to(options.suite.resolve()).as_posix()
        failure = _failure(each)
        bad += bool(failure) != (name in IMPOSSIBLE)
        print(f"{'FAIL' if failure else 'pass'}  {name}{'  ' + IMPOSSIBLE.get(name, failure) if failure else ''}")
    passed = sum(not _failure(each) for each in tests)
    print(f"{passed} of {len(tests)} pass; {bad} otherwise than expected")
    return 1 if bad else 0


def _failure(test: dict[str, Any]) -> str:
    for step in test.get("steps") or ():
        for operation in step.get("operations") or ():
            if operation.get("failure"):
                return f"{step.get('name')}: {operation['failure'].get('error', '')}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
