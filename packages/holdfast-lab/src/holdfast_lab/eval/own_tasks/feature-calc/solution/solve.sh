#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >calc/lexer.py <<'END'
"""Text to tokens."""

import re

from calc.errors import CalcError

TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|([A-Za-z_]\w*)|([-+*/^(),]))")


def tokens(text):
    text, at, found = text.rstrip(), 0, []
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise CalcError(f"unexpected text: {text[at:]}")
        number, name, sign = match.groups()
        found.append(("number", float(number)) if number else ("name", name) if name else (sign, sign))
        at = match.end()
    return [*found, ("end", "the end")]
END
cat >calc/parser.py <<'END'
"""Tokens to a tree of tuples."""

from calc.errors import CalcError


def parse(found):
    tree, rest = _sum(found)
    _expect(rest, "end")
    return tree


def _expect(found, kind):
    if found[0][0] != kind:
        raise CalcError(f"unexpected: {found[0][1]}")
    return found[1:]


def _sum(found):
    left, found = _product(found)
    while found[0][0] in ("+", "-"):
        sign = found[0][0]
        right, found = _product(found[1:])
        left = (sign, left, right)
    return left, found


def _product(found):
    left, found = _unary(found)
    while found[0][0] in ("*", "/"):
        sign = found[0][0]
        right, found = _unary(found[1:])
        left = (sign, left, right)
    return left, found


def _unary(found):
    if found[0][0] == "-":
        inner, found = _unary(found[1:])
        return ("negative", inner), found
    return _power(found)


def _power(found):
    left, found = _atom(found)
    if found[0][0] == "^":
        right, found = _unary(found[1:])
        return ("^", left, right), found
    return left, found


def _atom(found):
    kind, value = found[0]
    if kind == "(":
        inner, found = _sum(found[1:])
        return inner, _expect(found, ")")
    if kind == "name" and found[1][0] == "(":
        first, found = _sum(found[2:])
        arguments = [first]
        while found[0][0] == ",":
            more, found = _sum(found[1:])
            arguments.append(more)
        return ("call", value, arguments), _expect(found, ")")
    if kind in ("name", "number"):
        return (kind, value), found[1:]
    raise CalcError(f"unexpected: {value}")
END
cat >calc/evaluator.py <<'END'
"""A tree to a number."""

import operator

from calc.errors import CalcError
from calc.lexer import tokens
from calc.parser import parse

SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}


def evaluate(text, names=None):
    try:
        value = _value(parse(tokens(text)), names or {})
    except (ArithmeticError, RecursionError) as error:
        raise CalcError(str(error)) from error
    if isinstance(value, complex):
        raise CalcError("the value is not real")
    return value


def _value(tree, names):
    match tree:
        case ("number", value):
            return value
        case ("name", name):
            if name not in names:
                raise CalcError(f"unknown name: {name}")
            return names[name]
        case ("negative", inner):
            return -_value(inner, names)
        case ("call", name, arguments):
            return _called(name, [_value(each, names) for each in arguments])
        case (sign, a, b):
            return SIGNS[sign](_value(a, names), _value(b, names))


def _called(name, values):
    if name not in ("min", "max", "abs"):
        raise CalcError(f"unknown function: {name}")
    if name == "abs":
        if len(values) != 1:
            raise CalcError("abs takes one argument")
        return abs(values[0])
    return min(values) if name == "min" else max(values)
END
