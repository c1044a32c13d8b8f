#!/bin/sh
# Solves the task.
set -eu
cd "${EVAL_ROOT:-/app}"
cat >draw/scene.py <<'END'
"""The scene."""

from math import radians

from shapes import Canvas, Circle, Rectangle


def scene():
    canvas = Canvas()
    canvas = canvas.add(Rectangle(10, 4, at=(1, 2)))
    canvas = canvas.add(Rectangle(3, 3).turn(radians(45)))
    canvas = canvas.add(Circle(4))
    return add_row(canvas, 3)


def add_row(canvas, count):
    for number in range(count):
        canvas = canvas.add(Rectangle(1, 1, at=(number * 2, 7)).turn(radians(90 * number)))
    return canvas
END
cat >draw/__main__.py <<'END'
"""Prints the scene, its length and its area."""

from shapes.text import render

from draw.scene import scene

canvas = scene()
print(render(canvas), end="")
print(f"length {sum(shape.perimeter for shape in canvas.shapes):.2f}")
print(f"area {sum(shape.area for shape in canvas.shapes):.2f}")
print(f"circles {[shape.radius * 2 for shape in canvas.shapes if hasattr(shape, 'radius')]}")
END
