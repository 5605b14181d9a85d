"""``python -m batpy``."""

from __future__ import annotations

import sys

from batpy.cli.main import main

sys.exit(main())
