"""``make fuzz``: all differential fuzzing there is, N cases of each kind."""

import argparse
import sys

from tests.fuzz import cel, celcheck, kinds, mutations, schema

parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
parser.add_argument("-n", default="2000", help="how many schemas, expressions and rules")
cases = ["-n", parser.parse_args().n]
results = schema.main(cases), cel.main([*cases, "--oracle"]), celcheck.main(cases), mutations.main(cases)
sys.exit(max(*results, kinds.main(cases)))
