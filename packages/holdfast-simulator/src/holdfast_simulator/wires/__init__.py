"""The four wires: for each, the rules of its requests and the rendering of a reply into events."""
