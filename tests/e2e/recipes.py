"""How each program of a cluster is built from published Go modules."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.e2e.machine import Unavailable, require_debian

DEFAULT = "1.37.2"
KUBERNETES = os.environ.get("MODELGATE_E2E_KUBERNETES", DEFAULT)
ETCD = "3.6.16"
HELM = "4.3.1"
CONTAINERD = "2.4.2"  # Debian's 1.6 is too old for a kubelet of 1.36 and newer
PROMETHEUS = "0.307.3"  # the Go module of Prometheus 3.7.3
RUNC = "1.4.0"  # and so is Debian's runc 1.1

NO_DEBUG = "-s -w"  # linker flags: no symbol table, no debug information; a third of the size
EMPTY_MODULE = "module modelgate.dev/assets\n\ngo 1.24\n"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one program is made: ``build(target, sources)`` writes ``target`` and works in a folder of ``sources``."""

    name: str
    build: Callable[[Path, Path], None]


def go(*arguments: str, folder: Path, cgo: bool = False) -> str:
    """Run the go command in a folder; raises Unavailable with what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    env = os.environ | {"CGO_ENABLED": str(int(cgo)), "GOFLAGS": "-mod=mod -trimpath -buildvcs=false", "GOWORK": "off"}
    done = subprocess.run(["go", *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"go {' '.join(arguments)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def downloaded(module: str, folder: Path) -> dict[str, str]:
    """Fetch a module; ``Dir`` and ``GoMod`` say where it lies."""
    return json.loads(go("mod", "download", "-json", module, folder=folder))


def write_main(folder: Path, imports: Iterable[str], run: str) -> None:
    """A program of one statement."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(f'\t"{path}"\n' for path in imports)
    (folder / "main.go").write_text(f"package main\n\nimport (\n{lines})\n\nfunc main() {{ {run} }}\n")


# Kubernetes cannot be `go install`ed: its go.mod points at ./staging, which its published module does not contain. A
# separate module that requires the published staging modules can build every program of it.


def kubernetes_go_mod(published: dict[str, Any]) -> str:
    """The text of our go.mod, from Kubernetes' own as ``go mod edit -json`` prints it."""
    staging = [r["Old"]["Path"] for r in published["Replace"] if r["New"]["Path"].startswith("./staging/")]
    version = "v0." + KUBERNETES.removeprefix("1.")
    required = {r["Path"]: version if r["Path"] in staging else r["Version"] for r in published["Require"]}
    required["k8s.io/kubernetes"] = f"v{KUBERNETES}"
    lines = [
        "module modelgate.dev/assets",
        f"go {published['Go']}",
        *(f"godebug {setting['Key']}={setting['Value']}" for setting in published.get("Godebug") or ()),
        *(f"require {path} {wanted}" for path, wanted in required.items()),
        *(f"replace {path} => {path} {version}" for path in staging),
    ]
    return "\n".join(lines) + "\n"


def kubernetes_module(folder: Path) -> None:
    """Make ``folder`` a module that can build the programs of k8s.io/kubernetes."""
    if not (folder / "go.mod").exists():
        published = downloaded(f"k8s.io/kubernetes@v{KUBERNETES}", folder)["GoMod"]
        described = json.loads(go("mod", "edit", "-json", published, folder=folder))
        (folder / "go.mod").write_text(kubernetes_go_mod(described))


def kubernetes(target: Path, sources: Path, *, imports: Iterable[str], run: str) -> None:
    folder = sources / "kubernetes"
    kubernetes_module(folder)
    write_main(folder / target.stem, imports, run)
    major, minor, _ = KUBERNETES.split(".")
    stamp = {"gitVersion": f"v{KUBERNETES}", "gitMajor": major, "gitMinor": minor}  # or it calls itself v0.0.0
    stamps = [f"-X k8s.io/component-base/version.{key}={value}" for key, value in stamp.items()]
    flags = " ".join([NO_DEBUG, *stamps])
    go("build", "-ldflags", flags, "-o", str(target), f"./{target.stem}", folder=folder)


def component(name: str, constructor: str) -> Recipe:
    """A program that is one cobra command of k8s.io/kubernetes/cmd/<name>/app."""
    imports = ["os", "k8s.io/component-base/cli", f"k8s.io/kubernetes/cmd/{name}/app"]
    imports += ["context"] if "context." in constructor else []
    return Recipe(name, partial(kubernetes, imports=imports, run=f"os.Exit(cli.Run(app.{constructor}))"))


def alone(target: Path, sources: Path, *, imports: Iterable[str], run: str, wanted: str | None = None) -> None:
    """A program in a module to itself: etcd and Kubernetes pin different versions of the same libraries."""
    folder = sources / target.stem
    write_main(folder, imports, run)
    (folder / "go.mod").write_text(EMPTY_MODULE)
    if wanted:
        go("get", wanted, folder=folder)
    go("build", "-ldflags", NO_DEBUG, "-o", str(target), ".", folder=folder)


def installed(target: Path, sources: Path, *, package: str, version: str) -> None:
    """A published program that builds as it is."""
    folder = sources / target.stem
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text(EMPTY_MODULE)
    go("get", f"{package}@v{version}", folder=folder)
    go("build", "-ldflags", NO_DEBUG, "-o", str(target), package, folder=folder)


def in_place(target: Path, sources: Path, *, module: str, package: str, tags: str, cgo: bool = False) -> None:
    """A program built in a copy of its own module, with the versions that its authors tested together."""
    if cgo:
        require_debian("/usr/bin/gcc", "/usr/include/seccomp.h")
    folder = sources / module.replace("/", "_")
    if not folder.exists():
        shutil.copytree(downloaded(module, sources)["Dir"], folder)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)  # the module cache is read-only, and go.sum may have to grow
    go("build", "-tags", tags, "-ldflags", NO_DEBUG, "-o", str(target), package, folder=folder, cgo=cgo)


def of_containerd(name: str) -> Recipe:
    module, tags = f"github.com/containerd/containerd/v2@v{CONTAINERD}", "no_btrfs no_zfs no_devmapper no_aufs"
    return Recipe(name, partial(in_place, module=module, package=f"./cmd/{name}", tags=tags))


KUBECTL = partial(
    kubernetes,
    imports=["k8s.io/component-base/cli", "k8s.io/kubectl/pkg/cmd", "k8s.io/kubectl/pkg/cmd/util"],
    run="if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil { util.CheckErr(err) }",
)
ETCD_ALONE = partial(
    alone,
    imports=["os", "go.etcd.io/etcd/server/v3/etcdmain"],
    run="etcdmain.Main(os.Args)",
    wanted=f"go.etcd.io/etcd/server/v3@v{ETCD}",
)
PAUSE = partial(
    alone,
    imports=["os", "os/signal", "syscall"],
    run="c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGINT, syscall.SIGTERM); <-c",
)
RUNC_IN_PLACE = partial(
    in_place, module=f"github.com/opencontainers/runc@v{RUNC}", package=".", tags="seccomp", cgo=True
)

PLANE = (
    component("kube-apiserver", "NewAPIServerCommand()"),
    component("kube-controller-manager", "NewControllerManagerCommand()"),
    Recipe("kubectl", KUBECTL),
    Recipe("etcd", ETCD_ALONE),
    Recipe("helm", partial(installed, package="helm.sh/helm/v4/cmd/helm", version=HELM)),
)
NODE = (
    *PLANE,
    component("kube-scheduler", "NewSchedulerCommand()"),
    component("kube-proxy", "NewProxyCommand()"),
    component("kubelet", "NewKubeletCommand(context.Background())"),
    of_containerd("containerd"),
    of_containerd("containerd-shim-runc-v2"),
    of_containerd("ctr"),
    Recipe("runc", RUNC_IN_PLACE),
    Recipe("pause", PAUSE),
)
PROMTOOL = partial(installed, package="github.com/prometheus/prometheus/cmd/promtool", version=PROMETHEUS)
RECIPES = {"plane": PLANE, "node": NODE, "alerts": (Recipe("promtool", PROMTOOL),)}
"""``alerts`` is apart: promtool alone takes as long as everything else, and cluster tests do not need it."""
