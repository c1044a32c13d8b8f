"""What tests stand on: builders, clocks, a verified fake store, a real database per test."""
