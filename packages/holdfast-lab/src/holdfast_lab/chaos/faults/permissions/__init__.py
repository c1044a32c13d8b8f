"""What is not yours: every route, tried by every actor that has no right to it."""
