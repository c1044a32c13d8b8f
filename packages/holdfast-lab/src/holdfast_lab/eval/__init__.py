"""`holdfast lab eval`: how well a model works with the prompt and the tools, by tasks."""
