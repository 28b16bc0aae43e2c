"""``make fuzz``: all differential fuzzing there is."""

import sys

from tests.fuzz import schema

sys.exit(schema.main())
