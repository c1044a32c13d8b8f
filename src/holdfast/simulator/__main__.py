"""`python -m holdfast.simulator` is `holdfast simulate`."""

from holdfast.simulator.command import main

if __name__ == "__main__":
    main()
