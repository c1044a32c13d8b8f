"""Where attacks are played: processes, servers of their own, and failpoints around the ports."""
