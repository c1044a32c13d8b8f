"""What breaks clients between two OpenAPI documents: `python -m scripts.contract`."""
