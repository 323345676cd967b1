"""Moto's server with AWS's rules (aws/), checks of every request and answer (aws/checks.py), and orders of tests (aws/control.py).

usage: server.py
A line of standard input starts a server or ends it, and is answered with the server's process id:
start HOST PORT LOGFILE, end PID, their words parted by tabs. Each server is forked: to import moto takes longer than most tests need it.
All of them end with standard input.
"""

import email.utils
import io
import json
import os
import signal
import sys
import threading
import traceback
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import aws
from aws import checks, control, sessions, world
from moto.moto_api._internal import mock_random
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple

# By the version that a request names.
VERSIONS = {"2016-11-15": "ec2", "2015-12-01": "elbv2", "2012-06-01": "elb", "2011-06-15": "sts"}
# For who stands before this server: what a check has found, and what time it is by AWS's clock.
WRONG = "x-counterpart-wrong"
DATE = "x-counterpart-date"


class Server:
    """One request at a time, so that no rule sees half of another's change."""

    def __init__(self):
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.moto.debug = True
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        with self.lock:
            status, headers, answer = self.answer(environ, body)
        start_response(status, headers)
        return [answer]

    def answer(self, environ, body):
        path = environ["PATH_INFO"]
        if path.startswith("/counterpart/"):
            return self.order(path.removeprefix("/counterpart/"), body)
        if path == "/v1/credentials":
            code, answer = sessions.pod_identity(environ.get("HTTP_AUTHORIZATION"))
            return f"{code} ", [("content-type", "application/json")], json.dumps(answer).encode()
        form = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True)
        named = dict(form)
        service = VERSIONS.get(named.get("Version"))
        if path != "/" or service is None:
            return self.pass_on(environ, body)
        wrong = checks.request(service, form)
        if environ.get("HTTP_X_COUNTERPART_ONLY_CHECK"):
            return "204 ", [(WRONG, json.dumps(wrong))], b""
        refused = sessions.refusal(service, headers_of(environ), named)
        if wrong and refused is None:
            refused = "ValidationError", wrong[0], 400
        if refused is not None:
            status, headers, answer = refusal(service, *refused)
        else:
            status, headers, answer = self.pass_on(environ, body)
        wrong += checks.answer(service, named.get("Action"), int(status.split()[0]), answer)
        headers.append((DATE, email.utils.formatdate(world.clock(), usegmt=True)))
        return status, [*headers, (WRONG, json.dumps(wrong))] if wrong else headers, answer

    def pass_on(self, environ, body):
        """What moto answers."""
        environ["wsgi.input"], sessions.body = io.BytesIO(body), body
        head = []
        try:
            answer = b"".join(self.moto(environ, lambda status, headers, _=None: head.append((status, headers))))
        except Exception:  # A fault of moto's, or of a rule of ours.
            return "500 ", [], traceback.format_exc().encode()
        status, headers = head[0]
        return status, [it for it in headers if it[0].lower() != "content-length"], answer

    def order(self, name, body):
        """What a test orders: the arguments are an object."""
        try:
            answer = control.ORDERS[name](**json.loads(body))
        except Exception:  # The test shows it.
            return "500 ", [], traceback.format_exc().encode()
        return "200 ", [("content-type", "application/json")], json.dumps(answer, default=str).encode()


def headers_of(environ):
    return {key.removeprefix("HTTP_").replace("_", "-").lower(): it for key, it in environ.items() if key.startswith("HTTP_")}


def refusal(service, code, message, status):
    """A refusal in the service's own form."""
    if service == "ec2":
        error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        text = f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"
    else:
        error = f"<Error><Type>Sender</Type><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        text = f"<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>"
    return f"{status} ", [("content-type", "text/xml;charset=UTF-8")], text.encode()


def serve(host, port, log):
    """Serves in this process, which was forked for it."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for output in 1, 2:
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), output)
    # No two servers give the same ids.
    mock_random.seed()
    run_simple(host, int(port), Server(), threaded=True, request_handler=MotoRequestHandler)


def main():
    servers = set()
    for line in sys.stdin:
        order, *words = line.rstrip("\n").split("\t")
        if order == "start":
            server = os.fork()
            if not server:
                serve(*words)
                return
            servers.add(server)
        else:
            server = int(words[0])
            servers.remove(server)
            end(server)
        print(server, flush=True)
    for server in servers:
        end(server)


def end(server):
    os.kill(server, signal.SIGTERM)
    os.waitpid(server, 0)


if __name__ == "__main__":
    main()
