"""A mutant: an agent whose file tools write to repositories as to any other folder.

python -m holdfast_lab.chaos.faults.injections.unguarded --root FOLDER …
"""

from holdfast_agent.command import main
from holdfast_agent.files import writing


def _anywhere(*_: object) -> None:
    """In the place of the predicate."""


if __name__ == "__main__":
    writing.refuse_git = _anywhere
    main()
