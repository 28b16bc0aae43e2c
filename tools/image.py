"""Collects what an image needs to run Python programs, and nothing else: no shell, no package manager.

    python3 tools/image.py TARGET PROGRAMS

``PROGRAMS`` is a virtual environment, which the Dockerfile copies itself. Into the folder ``TARGET`` go this
interpreter and its standard library with byte code, the shared libraries that they and the programs are linked with,
certificates, a user, and for each Debian package that a file is of, its licence and its entry in
``var/lib/dpkg/status.d``, where scanners of images look. Needs no other package, because it runs in the stage that
builds the image.
"""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

# Parts of the standard library that only developers use.
UNUSED = {
    *("__pycache__", "dist-packages", "distutils", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages"),
    *("test", "tests", "tkinter", "turtledemo"),
}
FILES = ("/etc/ld.so.conf", "/etc/mime.types", "/etc/os-release", "/etc/ssl/certs/ca-certificates.crt")
FOLDERS = ("/etc/ld.so.conf.d",)
LOADED = ("libgcc_s.so.1",)  # by glibc, when a thread ends
USERS = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nmodelgate:x:65532:65532::/nonexistent:/sbin/nologin\n",
    "etc/group": "root:x:0:\nmodelgate:x:65532:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def printed(*command: str | Path) -> str:
    """What a program of the build stage prints; ``ldd`` and ``dpkg-query`` fail for single files, which is expected."""
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


class Image:
    """A root file system; ``taken`` are the files that were copied, by their names here."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.taken: list[Path] = []

    def take(self, path: Path) -> None:
        """Copy a file to where it is here, with the links that lead to it."""
        place = path.parent.resolve() / path.name
        target = self.root / place.relative_to("/")
        if target.exists() or target.is_symlink():
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(place, target, follow_symlinks=False)
        self.taken.append(path)
        if place.is_symlink():
            self.take(place.parent / place.readlink())

    def take_all(self, folder: Path) -> None:
        """Copy a folder without the parts that are not used."""
        for path in sorted(folder.iterdir()):
            if path.name in UNUSED or path.name.startswith("config-") or not path.exists():
                continue
            if path.is_dir() and not path.is_symlink():
                self.take_all(path)
            else:
                self.take(path)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def linked(folders: list[Path], programs: list[Path]) -> set[Path]:
    """The shared libraries of all ELF files, as the dynamic linker finds them."""
    found = [path for folder in folders for path in folder.rglob("*.so*") if path.is_file()]
    lines = printed("ldd", *found, *programs).splitlines()
    words = (word for line in lines if not line.endswith(":") for word in line.split())
    return {Path(word) for word in words if word.startswith("/") and not word.startswith(str(folders[-1]))}


def packages(paths: list[Path]) -> set[str]:
    """The Debian packages that files are of."""
    names = sorted({str(each) for each in paths} | {str(each.resolve()) for each in paths})
    lines = printed("dpkg-query", "--search", *names).splitlines()
    return {line.partition(":")[0] for line in lines if not line.startswith("diversion")}


def main(target: Path, programs: Path) -> None:
    image = Image(target)
    for name in ("lib", "lib64"):
        if Path("/", name).is_symlink():
            target.mkdir(parents=True, exist_ok=True)
            (target / name).symlink_to(Path("/", name).readlink())
    library = Path(sysconfig.get_path("stdlib"))
    interpreter = Path(sys.base_prefix, "bin", f"python{sysconfig.get_python_version()}")
    image.take(interpreter)
    image.take(interpreter.parent / "python3")
    image.take_all(library)
    cache = printed("ldconfig", "-p").split()
    for path in (*linked([library, programs], [interpreter]), *(Path(each) for each in cache if each.endswith(LOADED))):
        if path.is_absolute():
            image.take(path)
    for path in filter(Path.exists, map(Path, FILES)):
        image.take(path)
    for folder in filter(Path.exists, map(Path, FOLDERS)):
        image.take_all(folder)
    for name, text in USERS.items():
        image.write(name, text)
    for package in sorted(packages(image.taken)):
        image.write(f"var/lib/dpkg/status.d/{package}", printed("dpkg-query", "--status", package))
        licence = Path("/usr/share/doc", package, "copyright")
        if licence.exists():
            image.write(f"usr/share/doc/{package}/copyright", licence.read_text())
    compileall.compile_dir(
        target / library.relative_to("/"),
        stripdir=str(target),
        quiet=1,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    (target / "tmp").mkdir()
    (target / "tmp").chmod(0o1777)
    printed("ldconfig", "-r", target, "-X")
    shutil.rmtree(target / "var/cache", ignore_errors=True)


if __name__ == "__main__":
    os.umask(0o022)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
