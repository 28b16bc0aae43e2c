"""`python -m webhook` is `modelgate`."""

import sys

from webhook.cli import main

sys.exit(main())
