"""The Python examples of a page, run as doctests: here, and by themselves in an environment with the wheel alone.

`python pages.py PAGE…` prints what differs, and exits with 1.
"""

import doctest
import re
import sys
from pathlib import Path

__all__ = ["differences", "listing"]

_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
_FLAGS = doctest.NORMALIZE_WHITESPACE


class _Checker(doctest.OutputChecker):
    """In the wheel, the packages are below `modelgate`."""

    def check_output(self, want, got, optionflags):
        return super().check_output(want, got.replace("modelgate.webhook.", "webhook."), optionflags)


def differences(page):
    """The number of examples of a page, and what they print that is not on it."""
    examples = "\n".join(block for block in _BLOCK.findall(page.read_text()) if block.startswith(">>>"))
    test = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    said = []
    doctest.DocTestRunner(_Checker(), optionflags=_FLAGS).run(test, out=said.append)
    return len(test.examples), "".join(said)


def listing(page, name):
    """The file of a page that begins with a comment of its name."""
    (found,) = (block for block in _BLOCK.findall(page.read_text()) if block.startswith(f"# {name}\n"))
    return found


if __name__ == "__main__":
    said = [differences(Path(each))[1] for each in sys.argv[1:]]
    print("".join(said), end="")
    sys.exit(any(said))
