"""`make bench`: every benchmark there is, or those named."""

import importlib
import sys
from pathlib import Path

names = sys.argv[1:] or sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file.stem != "__main__")
for name in names:
    print(f"== {name}")
    importlib.import_module(f"tests.bench.{name}").main()
