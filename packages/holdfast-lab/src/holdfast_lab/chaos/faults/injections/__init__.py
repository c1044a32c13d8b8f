"""Instructions planted where a model reads, and a model that obeys them."""
