#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir app docs
cat >app/__init__.py <<'END'
from app.users import get_usr, get_usr_group

__all__ = ["get_usr", "get_usr_group"]
END
cat >app/users.py <<'END'
"""Users by name."""

USERS = {"ada": "admin", "bob": "staff"}


def get_usr(name):
    return name if name in USERS else None


def get_usr_group(name):
    """The group of what `get_usr` finds."""
    return USERS[name] if get_usr(name) else None
END
cat >app/web.py <<'END'
"""Handlers, by the name of the function that they call."""

from app import users

HANDLERS = {"user": "get_usr", "group": "get_usr_group"}


def handle(what, name):
    return getattr(users, HANDLERS[what])(name)
END
cat >docs/users.md <<'END'
# Users

`get_usr(name)` returns the name, or None. `get_usr_group(name)` returns the group.
END
cat >test_users.py <<'END'
import unittest

import app
from app.web import handle


class UsersTest(unittest.TestCase):
    def test_get_usr(self):
        self.assertEqual(app.get_usr("ada"), "ada")
        self.assertEqual(handle("user", "bob"), "bob")
        self.assertEqual(handle("group", "bob"), "staff")


if __name__ == "__main__":
    unittest.main()
END
