"""A libSQL server of a few lines over SQLite in memory, for tests that need an address and not the real thing."""

import base64
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Hrana:
    """`url` and `token` let one in; `requests` counts what came; `down` makes it answer 503, `hangs` not at all."""

    def __init__(self) -> None:
        self.token, self.requests, self.down, self.seen = "t0ken-of-the-test", 0, False, list[str]()
        self.hangs = threading.Event()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with outer._lock:
                    outer.requests += 1
                    outer.seen.append(body.decode())
                if outer.hangs.is_set():
                    time.sleep(1.0)  # longer than any test lets it take
                    return
                with outer._lock:
                    status, answer = outer._answer(self.headers.get("Authorization", ""), json.loads(body))
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._db.close()

    def _answer(self, told: str, body: Any) -> tuple[int, Any]:
        if self.down:
            return 503, {}
        if told != f"Bearer {self.token}":
            return 401, {}
        results, errors = [], []
        for step in body["requests"][0]["batch"]["steps"]:
            result = error = None
            if _holds(step.get("condition"), results, errors):
                try:
                    stmt = step["stmt"]
                    rows = self._db.execute(stmt["sql"], [_value(arg) for arg in stmt.get("args", [])]).fetchall()
                    result = {"cols": [], "rows": [[_told(value) for value in row] for row in rows]}
                except sqlite3.Error as caught:
                    error = {"message": str(caught), "code": "SQLITE_ERROR"}
            results.append(result)
            errors.append(error)
        done = {"type": "batch", "result": {"step_results": results, "step_errors": errors}}
        return 200, {"results": [{"type": "ok", "response": done}]}


@contextmanager
def hrana() -> Iterator[Hrana]:
    server = Hrana()
    try:
        yield server
    finally:
        server.stop()


def _holds(condition: Any, results: list[Any], errors: list[Any]) -> bool:
    if not condition:
        return True
    if condition["type"] == "not":
        return not _holds(condition["cond"], results, errors)
    return errors[condition["step"]] is None and results[condition["step"]] is not None


def _value(arg: Any) -> Any:
    if arg["type"] == "blob":
        return base64.b64decode(arg["base64"])
    return {"null": lambda _: None, "integer": int, "float": float, "text": str}[arg["type"]](arg.get("value"))


def _told(value: Any) -> Any:
    if value is None:
        return {"type": "null"}
    if isinstance(value, bytes):
        return {"type": "blob", "base64": base64.b64encode(value).decode().rstrip("=")}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    return {"type": "float", "value": value} if isinstance(value, float) else {"type": "text", "value": value}
