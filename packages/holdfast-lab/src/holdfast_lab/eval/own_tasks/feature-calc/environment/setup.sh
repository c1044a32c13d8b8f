#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir calc
cat >calc/__init__.py <<'END'
"""Expressions."""

from calc.evaluator import evaluate
from calc.errors import CalcError

__all__ = ["CalcError", "evaluate"]
END
cat >calc/errors.py <<'END'
"""What can go wrong."""


class CalcError(Exception):
    """The expression has no value; says why."""
END
cat >calc/lexer.py <<'END'
"""Text to tokens."""

import re

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([-+*/()]))")


def tokens(text):
    at, found = 0, []
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        number, sign = match.groups()
        found.append(float(number) if number else sign)
        at = match.end()
    return found
END
cat >calc/parser.py <<'END'
"""Tokens to a tree of tuples."""


def parse(found):
    tree, rest = _sum(found)
    assert not rest
    return tree


def _sum(found):
    left, found = _product(found)
    while found and found[0] in ("+", "-"):
        sign = found[0]
        right, found = _product(found[1:])
        left = (sign, left, right)
    return left, found


def _product(found):
    left, found = _unary(found)
    while found and found[0] in ("*", "/"):
        sign = found[0]
        right, found = _unary(found[1:])
        left = (sign, left, right)
    return left, found


def _unary(found):
    if found[0] == "-":
        inner, found = _unary(found[1:])
        return ("negative", inner), found
    return _atom(found)


def _atom(found):
    if found[0] == "(":
        inner, found = _sum(found[1:])
        assert found[0] == ")"
        return inner, found[1:]
    return ("number", found[0]), found[1:]
END
cat >calc/evaluator.py <<'END'
"""A tree to a number."""

from calc.lexer import tokens
from calc.parser import parse


def evaluate(text):
    return _value(parse(tokens(text)))


def _value(tree):
    match tree:
        case ("number", value):
            return value
        case ("negative", inner):
            return -_value(inner)
        case ("+", a, b):
            return _value(a) + _value(b)
        case ("-", a, b):
            return _value(a) - _value(b)
        case ("*", a, b):
            return _value(a) * _value(b)
        case ("/", a, b):
            return _value(a) / _value(b)
END
