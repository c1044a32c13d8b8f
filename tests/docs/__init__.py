"""What documents and examples say, held against what is there."""
