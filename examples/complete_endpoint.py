"""A `/complete` endpoint for bonsai, in the standard library: `python examples/complete_endpoint.py [PORT]`.

It takes {"prompt": …} and gives {"text": …}. Put your own model into `complete`; as it is, it passes the prompt on to
the OpenAI-compatible server that LLM_URL names (e.g. http://localhost:11434/v1), with the model of LLM_MODEL.
"""

import json
import os
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MOST = 256 * 1024  # bytes of a request


def complete(prompt: str) -> str:
    """What the model says to a prompt."""
    url = os.environ.get("LLM_URL", "")
    if not url:
        return "[]"  # no model: bonsai does without it, and says so
    message = {"role": "user", "content": prompt}
    body = {"model": os.environ.get("LLM_MODEL", "default"), "messages": [message], "temperature": 0}
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("LLM_KEY", ""):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(f"{url.rstrip('/')}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["choices"][0]["message"]["content"])


class Endpoint(BaseHTTPRequestHandler):
    """POST /complete."""

    def do_POST(self) -> None:
        """Answer one prompt."""
        try:
            size = int(self.headers.get("Content-Length", 0))
            if self.path != "/complete" or not 0 < size <= MOST:
                self._say(404 if self.path != "/complete" else 413, {"error": 'POST {"prompt": …} to /complete'})
                return
            self._say(200, {"text": complete(str(json.loads(self.rfile.read(size))["prompt"]))})
        except (ValueError, KeyError, TypeError):
            self._say(400, {"error": 'the body is no {"prompt": …}'})
        except OSError as error:
            self._say(502, {"error": f"the model does not answer: {type(error).__name__}"})

    def _say(self, status: int, value: dict[str, str]) -> None:
        data = json.dumps(value, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Prompts are private: nothing is logged."""


if __name__ == "__main__":
    given = sys.argv[1:] or ["8080"]
    if len(given) > 1 or not given[0].isdecimal() or int(given[0]) > 65535:
        sys.exit(__doc__)
    ThreadingHTTPServer(("127.0.0.1", int(given[0])), Endpoint).serve_forever()
