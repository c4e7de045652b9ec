"""The markdown tree, pure: rules about notes that touch no disk, clock or environment."""
