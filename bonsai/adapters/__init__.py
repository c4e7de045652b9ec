"""The outside, one system each; none imports another."""
