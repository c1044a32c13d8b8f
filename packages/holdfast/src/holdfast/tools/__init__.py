"""Built-in tools, and small wrappers that make one toolbox of several."""
