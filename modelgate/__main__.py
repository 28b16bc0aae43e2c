"""`python -m modelgate` is `modelgate`."""

import sys

from modelgate import main

sys.exit(main())
