"""A deeper look for credentials with detect-secrets (the extra `secrets`): more guesses, more false ones, slower."""

from collections.abc import Iterable, Iterator
from typing import Any

from bonsai.errors import Unavailable, install_hint
from bonsai.notes.secrets import Secret, described, is_text

MOST = 10_000  # characters of a line that are looked at


def audit(texts: Iterable[tuple[str, bytes]]) -> list[tuple[str, Secret]]:
    """What it finds in files (path, bytes), each place once. It asks no server whether a credential is valid.

    Raises Unavailable where detect-secrets is not installed.
    """
    try:
        from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
        from detect_secrets.settings import get_plugins, transient_settings
    except ImportError as error:
        hint = install_hint("secrets")
        raise Unavailable("detect-secrets is not installed", hint=hint) from error
    names = [{"name": plugin.__name__} for plugin in get_mapping_from_secret_type_to_class().values()]
    with transient_settings({"plugins_used": names}):
        plugins = get_plugins()
        return [(path, found) for path, data in texts if is_text(data) for found in _of(path, data, plugins)]


def _of(path: str, data: bytes, plugins: Iterable[Any]) -> Iterator[Secret]:
    from detect_secrets.filters import heuristic

    innocent: tuple[Any, ...] = (
        heuristic.is_sequential_string,
        heuristic.is_potential_uuid,
        heuristic.is_templated_secret,
    )
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
        seen = set()
        for plugin in plugins:
            # Not `scan_line`: that also takes every unquoted word of high entropy, so each commit id, for a secret.
            for found in plugin.analyze_line(filename=path, line=line[:MOST], line_number=number):
                value = found.secret_value
                if value not in seen and not any(test(value) for test in innocent):
                    seen.add(value)
                    yield described(found.type, value, number)
