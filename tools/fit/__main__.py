"""``python -m tools.fit``: compile the tables. ``… model`` and ``… gpu`` add a row, and refuse one without a source.

python -m tools.fit model config.json --match 'qwen4-8b' --owner Qwen --source 'Qwen/Qwen4-8B 1a2b3c config.json'
python -m tools.fit gpu B400 --gib 288 --label NVIDIA-B400 --source N
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tools.fit.compiled import TABLES, compiled
from tools.fit.rows import GPUS, MODELS, RefusedRowError, add, gpu_row, model_row


def main(argv: list[str] | None = None) -> int:
    """0, or 1 for a row that is refused."""
    options = _parser().parse_args(argv)
    try:
        if options.table == "model":
            add(MODELS, _model(options))
        elif options.table == "gpu":
            labels, firm = options.label, not options.not_firm
            row = gpu_row(options.name, options.gib, labels, options.source, firm=firm, vendor=options.vendor)
            add(GPUS, row, before="instances:")
    except (RefusedRowError, OSError, ValueError) as error:
        print(f"refused: {error}", file=sys.stderr)
        return 1
    TABLES.write_bytes(compiled())
    return 0


def _model(options: Namespace) -> dict[str, object]:
    config = json.loads(options.config.read_text(encoding="utf-8"))
    return model_row(config, options.match, options.owner, options.source, options.published)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m tools.fit", description="Compile the tables of fit, or add a row.")
    tables = parser.add_subparsers(dest="table")
    model = tables.add_parser("model", help="from a recorded config.json")
    model.add_argument("config", type=Path)
    model.add_argument("--match", required=True, help="a pattern of the name, in lower case, without suffixes")
    model.add_argument("--owner", action="append", required=True)
    model.add_argument("--source", required=True, help="repository, commit and path of the config.json")
    model.add_argument("--published", type=float, help="10^9 parameters that the owner states")
    gpu = tables.add_parser("gpu", help="by the number of GB that its vendor states")
    gpu.add_argument("name")
    gpu.add_argument("--gib", type=int, required=True)
    gpu.add_argument("--label", action="append", required=True)
    gpu.add_argument("--source", required=True, help="a letter of the sources of gpus.yaml")
    gpu.add_argument("--vendor", default="nvidia")
    gpu.add_argument("--not-firm", action="store_true", help="there are boards with modified memory")
    return parser


if __name__ == "__main__":
    sys.exit(main())
