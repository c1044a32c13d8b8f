"""What is not yours: every route, tried by everybody who has no business there."""
