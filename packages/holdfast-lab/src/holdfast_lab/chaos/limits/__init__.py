"""What there is only so much of, used up: a disk, and the connections of a database."""
