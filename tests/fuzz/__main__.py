"""``make fuzz``: N cases of each sort: against the API server's code, and of what comes over the wire."""

import argparse
import sys

from tests.fuzz import cel, celcheck, decoder, framing, kinds, mutations, schema, sources

parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
parser.add_argument("-n", default="2000", help="how many schemas, expressions and rules")
cases = ["-n", parser.parse_args().n]
wire = decoder.main(cases), framing.main(cases), sources.main(cases)
results = *wire, schema.main(cases), cel.main([*cases, "--oracle"]), celcheck.main(cases), mutations.main(cases)
sys.exit(max(*results, kinds.main(cases)))
