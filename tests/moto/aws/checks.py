"""Checks requests and answers against AWS's own descriptions of its services, with botocore as the judge.

A request is read with moto's parser, validated by botocore, and written again by botocore: what it says beside that is unknown, or in the
wrong place. botocore leaves patterns, enumerations and upper bounds to the service; they are checked here.
"""

import functools
import re
from xml.etree import ElementTree

from botocore.serialize import create_serializer
from botocore.session import get_session
from botocore.validate import ParamValidator
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.utils import get_service_model

# How moto's answers differ from the description, by operation: tags that are not described.
GAPS = {}
# The same for values that are not among those described, by tag.
VALUES = {"platform": ["windows"]}

SERVICES = ("ec2", "elb", "elbv2", "sts")

_session = get_session()
_models = {}


def model(service):
    if service not in _models:
        _models[service] = _session.get_service_model(service)
    return _models[service]


def operation(service, action):
    """The operation, or nothing if the service has none of this name."""
    if action not in model(service).operation_names:
        return None
    return model(service).operation_model(action)


def request(service, form):
    """What is wrong with a request: a list of sentences. `form` holds its pairs in their order."""
    pairs, wrong = dict(form), []
    if len(pairs) != len(form):
        wrong.append("a parameter is there twice")
    action, version = pairs.get("Action"), pairs.get("Version")
    described = operation(service, action)
    if described is None:
        return wrong + [f"{service} has no operation {action}"]
    if version != model(service).api_version:
        wrong.append(f"{service} is described in version {model(service).api_version}, not {version}")
    shape = described.input_shape
    if shape is None:
        return wrong
    protocol = model(service).metadata["protocol"]
    try:
        parser = PROTOCOL_PARSERS[protocol](get_service_model(service).operation_model(action))
        values = parser.parse({"method": "POST", "values": pairs, "headers": {}, "body": b"", "url_path": "/", "url_params": {}})
    except Exception as error:  # What cannot be read is wrong, whatever the reason.
        return wrong + [f"{action} cannot be read: {error!r}"]
    report = ParamValidator().validate(values, shape)
    if report.has_errors():
        wrong.append(f"{action}: {report.generate_report()}")
        return wrong
    wrong += (f"{action}: {it}" for it in _limits(shape, values, ""))
    written = create_serializer(protocol).serialize_to_request(values, described)["body"]
    written = {name: str(value) for name, value in written.items()}
    for name in sorted(pairs.keys() | written.keys()):
        if pairs.get(name) != written.get(name):
            wrong.append(f"{action}: the parameter {name} is {pairs.get(name)!r}, botocore writes {written.get(name)!r}")
    return wrong


def _limits(shape, value, at):
    """What botocore does not check itself."""
    kind, limits = shape.type_name, shape.metadata
    if kind == "structure":
        for name, it in value.items():
            yield from _limits(shape.members[name], it, f"{at}.{name}")
    elif kind == "list":
        if "max" in limits and len(value) > limits["max"]:
            yield f"{at} has {len(value)} elements, more than {limits['max']}"
        for it in value:
            yield from _limits(shape.member, it, at)
    elif kind == "string":
        if "max" in limits and len(value) > limits["max"]:
            yield f"{at} is {len(value)} long, more than {limits['max']}"
        if "pattern" in limits and not _pattern(limits["pattern"]).fullmatch(value):
            yield f"{at} is {value!r}, which is not {limits['pattern']}"
        if shape.enum and value not in shape.enum:
            yield f"{at} is {value!r}, which is none of {shape.enum}"
    elif kind in ("integer", "long") and "max" in limits and value > limits["max"]:
        yield f"{at} is {value}, more than {limits['max']}"


# Classes of Unicode, which Python's patterns do not name: what is nearest to each.
_CLASSES = {r"\p{L}": r"\w", r"\p{N}": r"\d", r"\p{Z}": r"\s"}


@functools.cache
def _pattern(text):
    for unicode, nearest in _CLASSES.items():
        text = text.replace(unicode, nearest)
    return re.compile(text, re.DOTALL)


def answer(service, action, status, body):
    """What is wrong with an answer: a list of sentences."""
    described = operation(service, action)
    if described is None:
        return []
    try:
        root = ElementTree.fromstring(body)
    except ElementTree.ParseError as error:
        return [f"the answer to {action} is no XML: {error}"]
    if status >= 400:
        has_code = any(_name(it) == "Code" and it.text for it in root.iter())
        return [] if has_code else [f"the refusal of {action} has no code: {body[:200]!r}"]
    shape = described.output_shape
    if shape is None:
        return []
    is_ec2 = model(service).metadata["protocol"] == "ec2"
    wrapper = shape.serialization.get("resultWrapper") if not is_ec2 else None
    if wrapper:
        result = [it for it in root if _name(it) == wrapper]
        if len(result) != 1:
            return [f"the answer to {action} has no {wrapper}"]
        root = result[0]
    gaps = GAPS.get(action, ()) if wrapper else ("requestId", *GAPS.get(action, ()))
    return [f"the answer to {action}: {it}" for it in _shown(shape, root, _name(root), gaps)]


def _name(element):
    return element.tag.rpartition("}")[2]


def _shown(shape, element, at, gaps):
    kind = shape.type_name
    if kind == "structure":
        members = {it.serialization.get("name", name): it for name, it in shape.members.items()}
        seen = set()
        for child in element:
            name = _name(child)
            member = members.get(name)
            if member is None:
                if name not in gaps:
                    yield f"{at} has a {name}, which is not described"
                continue
            if name in seen and not member.serialization.get("flattened"):
                yield f"{at} has two {name}"
            seen.add(name)
            yield from _shown(member, child, f"{at}/{name}", gaps)
    elif kind == "list" and not shape.serialization.get("flattened"):
        item = shape.member.serialization.get("name", "member")
        for child in element:
            if _name(child) != item:
                yield f"{at} has a {_name(child)}, and is a list of {item}"
            yield from _shown(shape.member, child, at, gaps)
    elif kind in ("integer", "long") and not re.fullmatch(r"-?\d+", element.text or ""):
        yield f"{at} is {element.text!r}, which is no number"
    elif kind == "boolean" and element.text not in ("true", "false"):
        yield f"{at} is {element.text!r}, which is neither true nor false"
    elif kind == "string" and shape.enum and element.text not in shape.enum:
        if (element.text or "") not in VALUES.get(_name(element), ()):
            yield f"{at} is {element.text!r}, which is none of {shape.enum}"
