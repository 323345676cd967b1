"""Calls AWS with the official SDK: reads calls as JSON from standard input, writes what became of each as JSON.

A call is {"service": "ec2", "operation": "describe_instances", "parameters": {…}}; what became of it is {"ok": {…}} or
{"error": {"code": "AuthFailure", "message": "…", "status": 401}}. Where to, with which key and authority, stands in the SDK's own
environment: AWS_ENDPOINT_URL, AWS_DEFAULT_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_CA_BUNDLE. The SDK checks each call and each answer
against AWS's own description of the service.
"""

import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, ParamValidationError

# One attempt: a test wants to see the first answer.
CONFIG = Config(retries={"total_max_attempts": 1}, read_timeout=30, connect_timeout=5)


def call(clients, it):
    service = it["service"]
    if service not in clients:
        clients[service] = boto3.client(service, config=CONFIG)
    try:
        answer = getattr(clients[service], it["operation"])(**it.get("parameters", {}))
    except ClientError as refused:
        error, metadata = refused.response["Error"], refused.response["ResponseMetadata"]
        return {"error": {"code": error["Code"], "message": error["Message"], "status": metadata["HTTPStatusCode"]}}
    except ParamValidationError as invalid:
        sys.exit(f"{service} {it['operation']}: {invalid}")
    answer.pop("ResponseMetadata")
    return {"ok": answer}


def main():
    clients = {}
    done = [call(clients, it) for it in json.load(sys.stdin)]
    json.dump(done, sys.stdout, default=str)


main()
