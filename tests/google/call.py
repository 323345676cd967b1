"""Calls Compute Engine with Google's own client: reads calls as JSON from standard input, writes what became of each as JSON.

Arguments: the simulator's URL, and the file of a service account's key, whose token endpoint is the simulator's. A call is
{"client": "Firewalls", "method": "insert", "arguments": {…}}; what became of it is {"ok": …} or {"error": {"status": 404, "reason": "notFound"}}.
The client waits for the operation of a write, and answers with its status and its error. Of a list it answers the names of all pages.
"""

import json
import sys
import time

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import compute_v1
from google.cloud.compute_v1.types import Operation
from google.oauth2 import service_account

SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


class Clients:
    def __init__(self, url, key):
        self.host = url.removeprefix("http://")
        info = json.load(open(key))
        info["token_uri"] = url + "/token"
        self.credentials = service_account.Credentials.from_service_account_info(info, scopes=SCOPES)
        self.made = {}

    def get(self, name):
        if name not in self.made:
            of = getattr(compute_v1, name + "Client")
            transport = of.get_transport_class("rest")(host=self.host, url_scheme="http", credentials=self.credentials)
            self.made[name] = of(transport=transport)
        return self.made[name]

    def operation(self, operation, project):
        """The operation at its end. The simulator answers a wait at once."""
        place = lambda link: link.rsplit("/", 1)[1]
        asked = {"project": project, "operation": operation.name}
        if operation.zone:
            client, asked["zone"] = self.get("ZoneOperations"), place(operation.zone)
        elif operation.region:
            client, asked["region"] = self.get("RegionOperations"), place(operation.region)
        else:
            client = self.get("GlobalOperations")
        while operation.status != Operation.Status.DONE:
            operation = client.wait(**asked) if "zone" not in asked and "region" not in asked else client.wait(request=asked)
            time.sleep(0.02)
        return operation


def shown(clients, answer, project):
    if hasattr(answer, "name") and hasattr(answer, "operation_type"):
        ended = clients.operation(answer, project)
        return {"operation": [it.code for it in ended.error.errors] or "DONE"}
    if isinstance(answer, compute_v1.types.Operation):
        return {"operation": "DONE"}
    if hasattr(answer, "pages"):
        names = []
        for it in answer:
            if isinstance(it, tuple):
                scope, part = it
                parts = [value for field, value in type(part).to_dict(part).items() if isinstance(value, list)]
                names += [scope + "/" + one["name"] for part in parts for one in part]
            else:
                names.append(getattr(it, "name", "") or getattr(it, "instance", "").rsplit("/", 1)[-1])
        return {"names": names}
    return type(answer).to_dict(answer)


def call(clients, it):
    arguments = it["arguments"]
    try:
        answer = getattr(clients.get(it["client"]), it["method"])(request=arguments)
        return {"ok": shown(clients, answer, arguments["project"])}
    except GoogleAPICallError as refused:
        reason = refused.errors[0]["reason"] if refused.errors else None
        return {"error": {"status": refused.code, "reason": reason, "message": refused.message}}


def main():
    clients = Clients(sys.argv[1], sys.argv[2])
    json.dump([call(clients, it) for it in json.load(sys.stdin)], sys.stdout)


main()
