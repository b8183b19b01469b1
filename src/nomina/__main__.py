"""``python -m nomina``: the same as the ``nomina`` command."""

import sys

from nomina.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
