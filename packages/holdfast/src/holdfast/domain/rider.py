"""What else a commit writes: rows of other tables, decided by the caller and not by the chat."""


class Rider:
    """A row that a commit writes in the same statement: exactly once with it, or not at all.

    Each kind is a frozen subclass. The store writes it by a file of its own
    (`adapters.postgres.riders`) and refuses a kind for which it has none.
    """

    __slots__ = ()
