"""`python -m holdfast_agent` is `holdfast workspace-agent`."""

from holdfast_agent.command import main

if __name__ == "__main__":
    main()
