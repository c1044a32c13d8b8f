"""The version of this package, and how it names itself to a server."""

import sys
from typing import Final

__version__: Final = "0.1.0"
USER_AGENT: Final = (
    f"holdfast-client/{__version__} python/{sys.version_info.major}.{sys.version_info.minor}"
)
