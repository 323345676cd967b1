"""Calls Network and Compute with Microsoft's own clients: reads calls as JSON from standard input, writes what became of each as JSON.

Arguments: the simulator's URL, and the file with the authority that signed its certificate. Standard input: {"credential": {…}, "calls": […]}.
A credential is {"kind": "secret" | "certificate" | "chain" | "federated" | "managed" | "endpoint", …}. A call is {"client": "network",
"group": "load_balancers", "method": "begin_create_or_update", "arguments": […], "named": {…}}; what became of it is {"ok": …} or {"error":
{"status": 404, "code": "ResourceNotFound"}}. The client waits for the operation of a write. Of a list it answers the names of all pages.
"""

import json
import os
import sys

from azure.core.exceptions import AzureError, HttpResponseError
from azure.core.pipeline.transport import RequestsTransport
from azure.identity import (
    CertificateCredential,
    ClientSecretCredential,
    ManagedIdentityCredential,
    WorkloadIdentityCredential,
)
from azure.mgmt.compute import ComputeManagementClient
from azure.mgmt.network import NetworkManagementClient


def credential(url, authority, it):
    more = {"authority": url, "disable_instance_discovery": True, "transport": RequestsTransport(connection_verify=authority)}
    kind = it["kind"]
    if kind == "secret":
        return ClientSecretCredential(it["tenant"], it["client"], it["secret"], **more)
    if kind in ("certificate", "chain"):
        chain = {"send_certificate_chain": True} if kind == "chain" else {}
        return CertificateCredential(it["tenant"], it["client"], it["file"], **chain, **more)
    if kind == "federated":
        return WorkloadIdentityCredential(tenant_id=it["tenant"], client_id=it["client"], token_file_path=it["file"], **more)
    if kind == "managed":
        os.environ["AZURE_POD_IDENTITY_AUTHORITY_HOST"] = url
    else:
        os.environ["IDENTITY_ENDPOINT"] = url + "/msi/token"
        os.environ["IDENTITY_HEADER"] = it["header"]
    named = {"client_id": it["client"]} if it.get("client") else {}
    return ManagedIdentityCredential(transport=more["transport"], **named)


def shown(answer):
    if answer is None:
        return None
    if hasattr(answer, "by_page"):
        return {"names": [it.name for it in answer]}
    return answer.as_dict() if hasattr(answer, "as_dict") else dict(answer)


def call(clients, it):
    arguments, named = it.get("arguments", []), it.get("named", {})
    if "if_match" in named:
        named = dict(named, headers={"If-Match": named["if_match"]})
        del named["if_match"]
    try:
        answer = getattr(getattr(clients[it["client"]], it["group"]), it["method"])(*arguments, **named)
        if it["method"].startswith("begin_"):
            answer = answer.result()
        return {"ok": shown(answer)}
    except HttpResponseError as refused:
        code = refused.error.code if refused.error else None
        return {"error": {"status": refused.status_code, "code": code, "message": str(refused)}}
    except AzureError as refused:
        return {"error": {"status": None, "code": type(refused).__name__, "message": str(refused)}}


def main():
    url, authority = sys.argv[1:]
    asked = json.load(sys.stdin)
    proof = credential(url, authority, asked["credential"])
    more = {
        "base_url": url,
        "credential_scopes": ["https://management.azure.com/.default"],
        "connection_verify": authority,
        "retry_total": 0,
        "polling_interval": 1,
    }
    clients = {
        "network": NetworkManagementClient(proof, asked["subscription"], **more),
        "compute": ComputeManagementClient(proof, asked["subscription"], **more),
    }
    json.dump([call(clients, it) for it in asked["calls"]], sys.stdout)


main()
