"""Workers killed, frozen and asked to leave in the middle of a turn, and turns stopped."""
