"""Links in a note: find them, tell where they lead, rewrite them each in its own line."""


def targets(text: str) -> tuple[str, ...]:
    """The targets of the links in a text, wiki links as `[[name]]`, each once."""
    return ()
