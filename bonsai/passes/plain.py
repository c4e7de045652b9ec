"""An answer of a verb as plain JSON values."""

from dataclasses import fields, is_dataclass
from typing import Any


def as_json(value: Any) -> Any:
    """A report as plain JSON values, its properties too; a trailing underscore is dropped (`from_` → `from`)."""
    if is_dataclass(value):
        names = [item.name for item in fields(value)]
        names += [name for name, item in vars(type(value)).items() if isinstance(item, property)]
        return {name.rstrip("_"): as_json(getattr(value, name)) for name in names}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {name: as_json(item) for name, item in zip(value._fields, value, strict=True)}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    return value
