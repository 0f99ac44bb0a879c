"""Writes the objects of which requests, responses and events of the chat, messages and responses protocols, and responses
of the gemini protocol, consist.

They come from the types of the Python clients, one file for each of the tables of fields:

    pip install openai==3.57.0 anthropic==2.14.0 google-genai==3.6.1 && python extract.py

A line that is not indented names an object, and the values of the members by which a union tells it apart. The lines
below it name its members, and the objects of their values; `[]` after one means an array of them.
"""

import collections.abc
import importlib.metadata
import pathlib
import types
import typing

import anthropic.types as messages
import openai.types.chat as chat
import openai.types.responses as responses
import typing_extensions
from google.genai import types as gemini
from anthropic.types.message_create_params import MessageCreateParamsBase
from openai.types.chat.completion_create_params import CompletionCreateParamsBase
from openai.types.responses.response_create_params import ResponseCreateParamsBase

FILES = {
    "chat_request": ("openai", CompletionCreateParamsBase),
    "chat_response": ("openai", chat.ChatCompletion),
    "chat_events": ("openai", chat.ChatCompletionChunk),
    "messages_request": ("anthropic", MessageCreateParamsBase),
    "messages_response": ("anthropic", messages.Message),
    "messages_events": ("anthropic", messages.RawMessageStreamEvent),
    "responses_request": ("openai", ResponseCreateParamsBase),
    "responses_response": ("openai", responses.Response),
    "responses_events": ("openai", responses.ResponseStreamEvent),
    "gemini_response": ("google-genai", gemini.GenerateContentResponse),
}
ARRAYS = (list, collections.abc.Iterable, collections.abc.Sequence)
MARKS = (typing_extensions.Annotated, typing_extensions.Required, typing_extensions.NotRequired)
DISCRIMINATORS = ("type", "role")
# Members that a client adds to what it received.
OF_CLIENTS = {"sdkHttpResponse", "parsed", "automaticFunctionCallingHistory"}


def is_object(kind):
    return isinstance(kind, type) and (typing_extensions.is_typeddict(kind) or hasattr(kind, "model_fields"))


def alternatives(kind):
    """The types of which a value may be, without annotations and unions."""
    origin = typing_extensions.get_origin(kind)
    if isinstance(kind, typing_extensions.TypeAliasType):
        return alternatives(kind.__value__)
    if origin in MARKS:
        return alternatives(typing_extensions.get_args(kind)[0])
    if origin in (typing.Union, types.UnionType):
        return [one for part in typing_extensions.get_args(kind) for one in alternatives(part)]
    return [kind]


def members(kind):
    """The members of an object as they are on the wire, with their types."""
    if hasattr(kind, "model_fields"):
        kind.model_rebuild()
        return {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
    found = {}
    for name, annotation in typing_extensions.get_type_hints(kind, include_extras=True).items():
        alias, inner = None, annotation
        while typing_extensions.get_origin(inner) in MARKS:
            for mark in getattr(inner, "__metadata__", ()):
                alias = alias or getattr(mark, "alias", None)
            inner = typing_extensions.get_args(inner)[0]
        found[alias or name] = annotation
    return found


def literals(kind):
    """The values that a member may have, if they are listed."""
    return [
        str(value)
        for one in alternatives(kind)
        if typing_extensions.get_origin(one) in (typing.Literal, typing_extensions.Literal)
        for value in typing_extensions.get_args(one)
    ]


class Objects:
    def __init__(self):
        self.names, self.lines = {}, {}

    def values(self, kind, suffix=""):
        """The names of the objects of which a value may be."""
        found = []
        for one in alternatives(kind):
            if is_object(one):
                found.append(self.name(one) + suffix)
            elif typing_extensions.get_origin(one) in ARRAYS:
                found.extend(self.values(typing_extensions.get_args(one)[0], suffix + "[]"))
        return list(dict.fromkeys(found))

    def name(self, kind):
        if kind not in self.names:
            taken, number, name = set(self.names.values()), 1, kind.__name__
            while name in taken:
                number += 1
                name = f"{kind.__name__}{number}"
            self.names[kind] = name
            self.lines[name] = self.described(kind, name)
        return self.names[kind]

    def described(self, kind, name):
        all_members = members(kind)
        tags = [(tag, literals(all_members.get(tag, type(None)))) for tag in DISCRIMINATORS]
        heading = [name] + [f"{tag}={','.join(values)}" for tag, values in tags if values]
        lines = [" ".join(heading)]
        for member in sorted(set(all_members) - OF_CLIENTS):
            lines.append("  " + " ".join([member, *self.values(all_members[member])]))
        return lines


for file, (package, kind) in FILES.items():
    objects = Objects()
    lines = [f"# {package} {importlib.metadata.version(package)}"]
    lines.append(" ".join(["root", *objects.values(kind)]))
    for name in sorted(objects.lines):
        lines.extend(objects.lines[name])
    text = "".join(f"{line}\n" for line in lines)
    pathlib.Path(__file__).with_name(f"{file}.types").write_text(text)
    print(f"{file}: {len(lines)} lines")
