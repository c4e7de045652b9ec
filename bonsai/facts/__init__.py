"""Scored facts, pure: what a fact is, what it is worth, which tier it is in, how a turn becomes one."""
