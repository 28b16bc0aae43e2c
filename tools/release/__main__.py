"""``make release``: build the files of a release, or publish them; ``changes`` writes their section of CHANGELOG.md."""

from __future__ import annotations

import argparse
import datetime as dt
import shlex
import shutil
import sys
from pathlib import Path

from tools.release import changes, project
from tools.release.build import CommandFailed, build
from tools.release.publish import commands, publish


def main(argv: list[str] | None = None) -> int:
    """0, or 1 with a sentence on stderr."""
    options = _parser().parse_args(argv)
    if options.command == "publish":
        if options.print:
            for command in commands(options.folder, options.registry, project.version()):
                print(shlex.join(command))
        else:
            publish(options.folder, options.registry, project.version())
        return 0
    if options.command == "changes":
        try:
            changes.join(project.version(), options.date)
        except ValueError as error:
            print(f"release: {error}", file=sys.stderr)
            return 1
        return 0
    reasons = [
        *project.disagreements(),
        *changes.pending(),
        *(f"not committed: {each}" for each in project.commit().changes),
    ]
    if any(options.folder.glob("*")):
        reasons.append(f"{options.folder} is not empty")
    helm = shutil.which(options.helm)
    if helm is None:
        reasons.append(f"there is no {options.helm}: install Helm 3.14 or newer, or name it with --helm")
    if reasons or helm is None:
        print(*(f"release: {reason}" for reason in reasons), sep="\n", file=sys.stderr)
        return 1
    try:
        build(options.folder.absolute(), helm, image=not options.no_image)
    except CommandFailed as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    steps = parser.add_subparsers(dest="command", required=True)
    default = Path("dist") / f"release-{project.version()}"
    building = steps.add_parser(
        "build", help="wheel, image, charts, manifests, bill of materials, provenance, checksums"
    )
    building.add_argument("--helm", default="helm", help="the program")
    building.add_argument("--no-image", action="store_true", help="without the image, which needs podman or buildah")
    publishing = steps.add_parser("publish", help="sign and upload; needs cosign, skopeo, uv and credentials")
    publishing.add_argument("--registry", required=True, help="host and path, such as registry.example/team")
    publishing.add_argument("--print", action="store_true", help="only print the commands")
    joining = steps.add_parser("changes", help="move the files of changes/ into CHANGELOG.md")
    today = dt.datetime.now(dt.UTC).date().isoformat()
    joining.add_argument("--date", default=today, help="of the release; %(default)s")
    for step in (building, publishing):
        step.add_argument("folder", nargs="?", type=Path, default=default, help=f"of the files; {default}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
