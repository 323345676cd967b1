"""As much of OpenStack's command-line client as the pages use: it makes and deletes application credentials of the user of OS_TOKEN at the Keystone
OS_AUTH_URL. What it made is written to made.json."""

import argparse
import json
import os
import urllib.request


def sent(method, path, body=None):
    """The answer to a request below the user."""
    url = f"{os.environ['OS_AUTH_URL']}/users/{os.environ['OS_USER_ID']}/application_credentials{path}"
    headers = {"X-Auth-Token": os.environ["OS_TOKEN"], "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or b"null")


def arguments():
    """The words of the command, as the client takes them."""
    parser = argparse.ArgumentParser(prog="openstack", allow_abbrev=False)
    commands = parser.add_subparsers(required=True).add_parser("application").add_subparsers(required=True)
    commands = commands.add_parser("credential").add_subparsers(required=True, dest="command")
    create = commands.add_parser("create")
    create.add_argument("name")
    create.add_argument("--role", action="append")
    create.add_argument("--access-rules", type=argparse.FileType())
    create.add_argument("-f", choices=["value"])
    create.add_argument("-c", action="append", choices=["id", "secret"])
    commands.add_parser("delete").add_argument("names", nargs="+")
    return parser.parse_args()


def main():
    """Does what the command says."""
    asked = arguments()
    if asked.command == "delete":
        for name in asked.names:
            [found] = sent("GET", f"?name={name}")["application_credentials"]
            sent("DELETE", f"/{found['id']}")
        return
    roles = [{"name": name} for name in asked.role]
    wanted = {"name": asked.name, "roles": roles, "access_rules": json.load(asked.access_rules)}
    with open("made.json", "w", encoding="utf-8") as made:
        credential = sent("POST", "", {"application_credential": wanted})["application_credential"]
        json.dump(credential, made)
    for column in asked.c:
        print(credential[column])


main()
