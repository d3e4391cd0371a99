"""``python vclusterlib COMMAND``: the command line, or the first process of the head."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

if sys.argv[1:2] == ["__head"]:
    from vclusterlib import head

    sys.exit(head.main(sys.argv[2:]))
else:
    from vclusterlib import cli

    sys.exit(cli.main(sys.argv[1:]))
