"""`python -m holdfast` is the `holdfast` command."""

from holdfast.cli.app import main

main()
