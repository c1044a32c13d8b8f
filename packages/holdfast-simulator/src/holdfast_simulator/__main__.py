"""`python -m holdfast_simulator` is `holdfast lab simulate`."""

from holdfast_simulator.command import main

if __name__ == "__main__":
    main()
