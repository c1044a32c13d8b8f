"""Commands of a workspace while servers and agents die around them."""
