"""The image as a command line: `docker run … "$IMAGE" check .` of docs/ci.md, with buildah in place of docker."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.trees import GOOD
from tests.e2e.image import buildah, storage_driver


@pytest.fixture(scope="module")
def container(image):
    """A container of the image, and the command that its configuration starts."""
    name = buildah("from", "--pull-never", image)
    config = json.loads(buildah("inspect", "--type=image", image))["OCIv1"]["config"]
    assert config["User"] == "65532:65532"
    yield name, config["Entrypoint"]
    buildah("rm", name)


MEGABYTES = 150
PROGRAMS = ("sh", "bash", "dash", "busybox", "apt", "dpkg", "pip", "pip3", "curl", "perl")


def test_the_image_is_small_and_has_no_shell_and_no_package_manager(image, container):
    name, entrypoint = container
    assert entrypoint == ["modelgate"]
    size = int(json.loads(buildah("images", "--json", image))[0]["size"].split()[0].split(".")[0])
    assert size <= MEGABYTES
    root = Path(buildah("mount", name))
    programs = [
        path for path in (*root.glob("**/bin/*"), *root.glob("**/sbin/*")) if not path.name.startswith("python")
    ]
    assert not {path.name for path in programs} & set(PROGRAMS)
    assert {path.name for path in programs} >= {"modelgate", "kubectl-modelgate"}
    packages = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert packages >= {"libc6", "libssl3", "libpython3.11-stdlib"}
    assert all((root / "usr/share/doc" / each / "copyright").is_file() for each in packages)
    buildah("umount", name)


def test_the_image_checks_a_mounted_folder(container, tmp_path):
    name, entrypoint = container
    tmp_path.chmod(0o755)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD.replace("{source", "{fromat: gguf, source"))
    start = ["buildah", f"--storage-driver={storage_driver()}", "run", "--isolation=chroot"]
    mounted = [f"--volume={tmp_path}:/src:ro", "--workingdir=/src", name, "--", *entrypoint]

    def run(*arguments):
        return subprocess.run([*start, *mounted, *arguments], capture_output=True, text=True, check=False)

    checked = run("check", ".")
    assert (checked.returncode, "bad.yaml:4:8: unknown-field error: spec.fromat" in checked.stdout) == (1, True)
    assert run("check", "good.yaml").returncode == 0
    assert run("rule", "LK205").stdout.startswith("LK205: Model ")
    assert run("--version").stdout.startswith("modelgate ")
