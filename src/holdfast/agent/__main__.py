"""`python -m holdfast.agent` is `holdfast agent`."""

from holdfast.agent.command import main

if __name__ == "__main__":
    main()
