"""Tests of the description of the HTTP API, by a public validator of OpenAPI 3.1."""

import json
import pathlib
import urllib.request

from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from demo import ADMIN_URL, BASE_URL
from runner import case, equal

CHECKED_IN = pathlib.Path(__file__).parents[3] / "schemas/openapi.json"


@case
def the_document_of_the_running_gateway_is_valid():
    document = _served()
    validate(document, cls=OpenAPIV31SpecValidator)
    equal("servers", document["servers"], [{"url": BASE_URL}])


@case
def the_document_that_is_checked_in_is_valid_and_differs_by_addresses_only():
    document = json.loads(CHECKED_IN.read_text())
    validate(document, cls=OpenAPIV31SpecValidator)
    equal("the API", _without_addresses(document), _without_addresses(_served()))


def _served():
    with urllib.request.urlopen(f"{ADMIN_URL}/openapi.json", timeout=20) as response:
        equal("content-type", response.headers["content-type"], "application/json")
        return json.load(response)


def _without_addresses(value):
    if isinstance(value, dict):
        return {key: _without_addresses(item) for key, item in value.items() if key != "servers"}
    return [_without_addresses(item) for item in value] if isinstance(value, list) else value
