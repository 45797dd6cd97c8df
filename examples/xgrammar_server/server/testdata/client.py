"""Talks to the server with the official client of OpenAI.

Usage: client.py URL XGRAMMAR. The server accepts each schema of SchemaStore that XGrammar compiles in Python.
XGRAMMAR is the folder of the Python package, of which only the binding classes are used.
"""
import glob
import importlib.util
import json
import os
import sys
import types
from typing import Literal

import openai
import pydantic
import tvm_ffi

url, folder = sys.argv[1:]
client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=1200)
ask = {"model": "toy", "messages": [{"role": "user", "content": "Anna is"}]}


class Person(pydantic.BaseModel):
    name: Literal["Anna", "Boris"]
    age: int = pydantic.Field(ge=0, le=120)


def structured():
    for seed in range(10):
        reply = client.chat.completions.parse(**ask, response_format=Person, seed=seed)
        person = reply.choices[0].message.parsed
        assert isinstance(person, Person), reply
        assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens, reply
    reply = client.chat.completions.create(**ask, response_format={"type": "json_object"}, seed=1, max_completion_tokens=1024)
    assert reply.choices[0].finish_reason == "length" or isinstance(json.loads(reply.choices[0].message.content), dict), reply


def sampled():
    options = {"top_p": 0.9, "presence_penalty": 0.5, "frequency_penalty": 0.5, "logit_bias": {"98": -100}, "seed": 1, "max_completion_tokens": 50}
    whole = client.chat.completions.create(**ask, **options).choices[0].message.content
    stop = whole[3:5]
    cut = client.chat.completions.create(**ask, **options, stop=stop, user="u", metadata={"a": "b"}).choices[0]
    assert cut.message.content == whole[: whole.index(stop)] and cut.finish_reason == "stop", (whole, cut)
    chunks = client.chat.completions.create(**ask, **options, stop=[stop, "never"], stream=True)
    text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
    assert text == cut.message.content, (text, cut)


def streamed():
    options = {"response_format": {"type": "json_schema", "json_schema": {"name": "p", "schema": Person.model_json_schema()}}, "seed": 3}
    whole = client.chat.completions.create(**ask, **options).choices[0].message.content
    text, usage, finish = "", None, None
    for chunk in client.chat.completions.create(**ask, **options, stream=True, stream_options={"include_usage": True}):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    assert text == whole and finish == "stop" and usage.completion_tokens > 0, (text, whole, finish, usage)


def choices():
    options = {"n": 3, "seed": 5, "logprobs": True, "top_logprobs": 4, "max_completion_tokens": 30}
    whole = client.chat.completions.create(**ask, **options)
    texts = [c.message.content for c in whole.choices]
    assert [c.index for c in whole.choices] == [0, 1, 2] and len(set(texts)) > 1, texts
    first = client.chat.completions.create(**ask, **{**options, "n": 1})
    assert first.choices[0].message.content == texts[0], (first, texts)
    assert whole.usage.completion_tokens == sum(len(c.logprobs.content) for c in whole.choices), whole.usage
    for c in whole.choices:
        assert b"".join(bytes(t.bytes) for t in c.logprobs.content).decode(errors="replace") == c.message.content, c
        for t in c.logprobs.content:
            assert len(t.top_logprobs) == 4 and t.logprob <= t.top_logprobs[0].logprob <= 0, t
            assert t.top_logprobs == sorted(t.top_logprobs, key=lambda t: -t.logprob), t
    streamed, tokens, finished = [""] * 3, [0] * 3, [None] * 3
    for chunk in client.chat.completions.create(**ask, **options, stream=True):
        for c in chunk.choices:
            assert finished[c.index] is None, chunk
            streamed[c.index] += c.delta.content or ""
            tokens[c.index] += len(c.logprobs.content) if c.logprobs else 0
            finished[c.index] = c.finish_reason
    assert streamed == texts and tokens == [len(c.logprobs.content) for c in whole.choices] and all(finished), (streamed, tokens)


def tools():
    def function(name, value):
        parameters = {"type": "object", "properties": {"city": {"enum": [value]}}, "required": ["city"]}
        return {"type": "function", "function": {"name": name, "parameters": parameters, "strict": True}}

    both = [function("weather", "Oslo"), function("time", "Paris")]
    for choice, names in ("required", {"weather", "time"}), ({"type": "function", "function": {"name": "time"}}, {"time"}):
        reply = client.chat.completions.create(**ask, tools=both, tool_choice=choice, parallel_tool_calls=False, seed=1)
        assert reply.choices[0].finish_reason == "tool_calls", reply
        (call,) = reply.choices[0].message.tool_calls
        assert call.function.name in names and json.loads(call.function.arguments)["city"] in ("Oslo", "Paris"), reply
        with client.chat.completions.stream(**ask, tools=both, tool_choice=choice, parallel_tool_calls=False, seed=1) as stream:
            final = stream.get_final_completion()
        (again,) = final.choices[0].message.tool_calls
        assert again.function.arguments == call.function.arguments and again.id, final
    reply = client.chat.completions.create(**ask, tools=both, tool_choice="none", max_tokens=20)
    assert reply.choices[0].message.tool_calls is None and reply.choices[0].message.content, reply


def errors():
    for kind, param, options in (
        (openai.NotFoundError, "model", {"model": "gpt"}),
        (openai.BadRequestError, "n", {"n": 99}),
        (openai.BadRequestError, "top_logprobs", {"top_logprobs": 3}),
        (openai.BadRequestError, "top_k", {"extra_body": {"top_k": 3}}),
        (openai.BadRequestError, "response_format", {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "no"}}}}),
    ):
        try:
            client.chat.completions.create(**{**ask, **options})
        except kind as e:
            assert e.param == param and e.type == "invalid_request_error", e.body
        else:
            raise AssertionError(param)


def schemas():
    package = types.ModuleType("xgrammar")  # the package itself imports torch
    package.__path__ = [folder]
    sys.modules["xgrammar"] = package
    tvm_ffi.load_module(os.path.join(folder, "libxgrammar_bindings.so"))
    from xgrammar import tvm_ffi_binding as x

    compiler = x.GrammarCompiler(x.TokenizerInfo([b"</s>"] + [bytes([b]) for b in range(256)], 0, None, [0], False), 1, False, -1, False)
    files = []
    for name, place in ("check_jsonschema", "builtin_schemas/vendor"), ("validate_pyproject_schema_store", "resources"):
        files += glob.glob(os.path.join(importlib.util.find_spec(name).submodule_search_locations[0], place, "*.json"))
    accepted = 0
    for file in sorted(files):
        with open(file) as f:
            schema = json.load(f)
        try:
            compiler.compile_json_schema(json.dumps(schema), False, None, None, True, None, False)
            compiles = True
        except RuntimeError:
            compiles = False
        try:
            client.chat.completions.create(**ask, max_tokens=1, response_format={"type": "json_schema", "json_schema": {"name": "a", "schema": schema}})
            accepts = True
        except openai.BadRequestError:
            accepts = False
        assert accepts == compiles, (file, accepts, compiles)
        accepted += accepts
    print(json.dumps({"schemas": len(files), "accepted": accepted}))


assert [m.id for m in client.models.list()] == ["toy"] and client.models.retrieve("toy").id == "toy"
structured()
sampled()
streamed()
choices()
tools()
errors()
schemas()
