"""An external scheduler behind HTTP, for tests: any snapshot policy, and a log of what it was asked."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import msgspec

from batpy.schedulers.pipelines.reference import ReferencePolicy
from batpy.schedulers.pipelines.snapshot import Snapshot


class RestServer(HTTPServer):
    def __init__(self, policy, answer=None, status=200):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.policy = policy
        self.answer = answer
        self.status = status
        self.log = []

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the second would wait for an acknowledgement

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.log.append({"path": self.path, "body": json.loads(body)})
        answer = b"OK"
        if self.path == "/schedule":
            answer = self.server.answer
            if answer is None:
                snapshot = msgspec.json.decode(body, type=Snapshot)
                answer = msgspec.json.encode(self.server.policy.schedule(snapshot))
        self.send_response(self.server.status if self.path == "/schedule" else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
        self.wfile.flush()

    def log_message(self, *arguments):
        pass


@contextmanager
def rest_server(policy=None, **options):
    """A running server; its thread and its socket are gone afterwards."""
    server = RestServer(policy or ReferencePolicy(), **options)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
