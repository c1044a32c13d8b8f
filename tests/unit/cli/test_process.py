"""What the long-running commands do to their process."""

import gc

from holdfast.cli.process import COLLECTED_AFTER, collect_seldom


def test_a_server_that_is_there_is_not_walked_by_the_collector_again() -> None:
    before = gc.get_threshold()
    try:
        collect_seldom()

        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() == COLLECTED_AFTER
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
