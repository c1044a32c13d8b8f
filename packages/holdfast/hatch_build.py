"""The wheel has the page in it, or is not built: this looks, it builds nothing.

Node is a tool of those who change the page, never of those who install it; so the page is built
before (`just ui`), and an installation from the source distribution finds it there.
"""

import json
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageIsThere(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        if version == "editable":
            return  # a developer's own tree: the server says what to do without a page
        static = Path(self.root) / "src" / "holdfast" / "web" / "static"
        built = static / "built.json"
        if not (static / "index.html").is_file() or not built.is_file():
            raise RuntimeError("the page is not built: run `just ui`, then build again")
        said = json.loads(built.read_text(encoding="utf-8"))["version"]
        if said != self.metadata.version:
            raise RuntimeError(
                f"the page was built for version {said}, this is {self.metadata.version}:"
                " run `just ui`, then build again"
            )
