"""Tests of listing and retrieving models, in the format of each SDK."""

import datetime

import anthropic
import openai

from demo import IMAGE, LARGE, SMALL, VIDEO_A, VIDEO_B, VIDEO_B_2, anthropic_client, openai_client
from runner import case, cases, equal, holds, raised

ALL = sorted([LARGE, SMALL, IMAGE, VIDEO_A, VIDEO_B, VIDEO_B_2])
BOTH = {"openai": (openai_client(), openai), "anthropic": (anthropic_client(), anthropic)}


@case
def openai_lists_and_retrieves_models():
    listed = {model.id: model for model in openai_client().models.list()}
    equal("ids", sorted(listed), ALL)
    for model in listed.values():
        equal("object", model.object, "model")
        holds("created is a time", model.created > 0, model.created)
        holds("owned_by is told", bool(model.owned_by), model.owned_by)
    equal("one model", openai_client().models.retrieve(LARGE), listed[LARGE])


@cases(api_key=(anthropic_client(),), auth_token=(anthropic_client(None, auth_token="sk-demo"),))
def anthropic_lists_and_retrieves_models(client):
    page = client.models.list()
    equal("ids", sorted(model.id for model in page.data), ALL)
    equal("has_more", page.has_more, False)
    equal("first and last", (page.first_id, page.last_id), (page.data[0].id, page.data[-1].id))
    names = {model.id: model.display_name for model in page.data}
    equal("display names", (names[LARGE], names[VIDEO_A]), ("Demo Chat", "Demo Video A"))
    model = client.models.retrieve(LARGE)
    equal("type", model.type, "model")
    holds("created_at is a time", isinstance(model.created_at, datetime.datetime), model.created_at)
    equal("created_at", model.created_at.isoformat(), "2026-01-01T00:00:00+00:00")


@case
def anthropic_pages_through_models():
    client = anthropic_client()
    first = client.models.list(limit=1)
    equal("size and has_more", (len(first.data), first.has_more), (1, True))
    equal("all pages", sorted(model.id for model in first), ALL)
    back = client.models.list(before_id=client.models.list().last_id)
    equal("before the last", [model.id for model in back.data], ALL[:-1])


@cases(**BOTH)
def a_model_that_does_not_exist_is_not_found(client, sdk):
    error = raised(sdk.NotFoundError, lambda: client.models.retrieve("demo-chap"))
    equal("status", error.status_code, 404)


@cases(openai=(openai_client("sk-wrong"), openai), anthropic=(anthropic_client("sk-wrong"), anthropic))
def a_wrong_key_lists_nothing(client, sdk):
    error = raised(sdk.AuthenticationError, lambda: client.models.list())
    equal("status", error.status_code, 401)
