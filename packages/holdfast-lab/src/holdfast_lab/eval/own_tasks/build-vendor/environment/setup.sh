#!/bin/sh
# Fills the folder of the task.
set -eu
cd "${1:-/app}"
mkdir -p vendor/shapes draw
cat >vendor/shapes/CHANGES.md <<'END'
# shapes

## 3.0

- `area()` and `perimeter()` are properties: `shape.area`.
- Angles are in radians everywhere. They were in degrees.
- `Canvas.add` returns a new canvas and leaves the old one as it was.

## 2.0

- `Rectangle(x, y, width, height)` is `Rectangle(width, height, at=(x, y))`.
- `Canvas.render()` is `render(canvas)` in `shapes.text`. It ends with a line break, which it did not before.
- `Circle.radius` is the radius. In version 1 it was the diameter, and so was the argument.
END
cat >vendor/shapes/__init__.py <<'END'
"""Shapes, version 3."""

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Shape:
    at: tuple = (0, 0)
    turned: float = 0.0

    def turn(self, angle):
        return replace(self, turned=(self.turned + angle) % (2 * math.pi))


@dataclass(frozen=True)
class Rectangle(Shape):
    width: float
    height: float

    @property
    def area(self):
        return self.width * self.height

    @property
    def perimeter(self):
        return 2 * (self.width + self.height)


@dataclass(frozen=True)
class Circle(Shape):
    radius: float

    @property
    def area(self):
        return math.pi * self.radius**2

    @property
    def perimeter(self):
        return 2 * math.pi * self.radius


@dataclass(frozen=True)
class Canvas:
    shapes: tuple = ()

    def add(self, shape):
        return Canvas((*self.shapes, shape))
END
cat >vendor/shapes/text.py <<'END'
"""Canvases as text."""

import math


def render(canvas):
    lines = []
    for shape in canvas.shapes:
        name = type(shape).__name__.lower()
        lines.append(f"{name} at {shape.at[0]},{shape.at[1]} turned {math.degrees(shape.turned):.0f} area {shape.area:.2f}")
    return "\n".join(lines) + "\n"
END
cat >draw/__init__.py <<'END'
END
cat >draw/scene.py <<'END'
"""The scene: written for shapes 1."""

from shapes import Canvas, Circle, Rectangle


def scene():
    canvas = Canvas()
    canvas.add(Rectangle(1, 2, 10, 4))
    canvas.add(Rectangle(0, 0, 3, 3).turn(45))
    canvas.add(Circle(8))
    add_row(canvas, 3)
    return canvas


def add_row(canvas, count):
    for number in range(count):
        canvas.add(Rectangle(number * 2, 7, 1, 1).turn(90 * number))
END
cat >draw/__main__.py <<'END'
"""Prints the scene, its length and its area."""

from draw.scene import scene

canvas = scene()
print(canvas.render())
print(f"length {sum(shape.perimeter() for shape in canvas.shapes):.2f}")
print(f"area {sum(shape.area() for shape in canvas.shapes):.2f}")
print(f"circles {[shape.radius for shape in canvas.shapes if hasattr(shape, 'radius')]}")
END
cat >expected.txt <<'END'
rectangle at 1,2 turned 0 area 40.00
rectangle at 0,0 turned 45 area 9.00
circle at 0,0 turned 0 area 50.27
rectangle at 0,7 turned 0 area 1.00
rectangle at 2,7 turned 90 area 1.00
rectangle at 4,7 turned 180 area 1.00
length 77.13
area 102.27
circles [8]
END
cat >test.sh <<'END'
#!/bin/sh
# The program prints what it always printed.
PYTHONPATH=vendor python3 -m draw | diff expected.txt -
END
