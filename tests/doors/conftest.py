"""The doors are tried on workspaces like those of the verbs."""

from verbs.conftest import bare, box, fixed_time, garden, seed

__all__ = ["bare", "box", "fixed_time", "garden", "seed"]
