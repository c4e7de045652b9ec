"""Allow: what looks like a credential and is none, by its fingerprint. Kept on this device, in no commit."""

import json
import re
from contextlib import suppress

from bonsai.errors import BadData, BonsaiError, NotFound
from bonsai.passes.reports import AllowReport
from bonsai.ports.disk import NoteStore

PLACE = ".bonsai/allowed.json"
_FINGERPRINT = re.compile(r"[0-9a-f]{12}")


def allowed(store: NoteStore) -> frozenset[str]:
    """The fingerprints that are allowed; none where the file is damaged, so that in doubt a note is held back."""
    with suppress(BonsaiError, ValueError, RecursionError):
        found = json.loads(store.read(PLACE))
        if isinstance(found, list):
            return frozenset(item for item in found if isinstance(item, str) and _FINGERPRINT.fullmatch(item))
    return frozenset()


def allow(store: NoteStore, fingerprint: str, remove: bool) -> AllowReport:
    """Add a fingerprint, or take it away. Raises BadData (it is none), NotFound (it was not allowed)."""
    if not _FINGERPRINT.fullmatch(fingerprint):
        # Not quoted: whoever mistakes what is asked for types the credential itself.
        raise BadData("is no fingerprint", hint="A fingerprint has 12 hex digits: `bonsai status` shows it.")
    known = allowed(store)
    if remove and fingerprint not in known:
        raise NotFound(f"{fingerprint} is not allowed", hint="`bonsai allow` lists what is.")
    now = sorted(known - {fingerprint} if remove else known | {fingerprint})
    store.generate(PLACE, f"{json.dumps(now)}\n".encode())
    return AllowReport(now)
