"""The server's side of workspaces: what is said to an agent, by whom, and how one is started."""
