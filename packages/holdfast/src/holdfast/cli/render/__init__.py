"""From events and answers to text: pure functions, so that every look has a test."""
