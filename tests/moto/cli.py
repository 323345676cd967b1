"""The part of AWS's command line that pages type, with the official SDK: aws SERVICE OPERATION --an-option VALUE …

Options are parameters of the operation, in their own spelling. --query takes a part of the answer, and --output can be text alone. Where to, and with
which key, stands in the SDK's own environment, as for call.py.
"""

import sys

import boto3
import jmespath


def main(service, operation, *options):
    given = {name.removeprefix("--"): value for name, value in zip(options[::2], options[1::2], strict=True)}
    query, output = given.pop("query", None), given.pop("output", "text")
    if output != "text":
        sys.exit(f"--output {output}: text alone is known here")
    parameters = {"".join(part.capitalize() for part in name.split("-")): value for name, value in given.items()}
    answer = getattr(boto3.client(service), operation.replace("-", "_"))(**parameters)
    if query is not None:
        print(jmespath.search(query, answer))


main(*sys.argv[1:])
