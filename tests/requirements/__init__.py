"""Which sentences the product must keep, and which tests prove them.

`requirements.toml` is the manifest, `manifest` reads it and finds the tests that name its ids,
`plugin` holds the two against each other while pytest runs.
"""

import pytest

requirement = pytest.mark.requirement
