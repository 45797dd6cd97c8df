"""Talks to the server with Instructor. Usage: instructor.py URL."""
import sys
from typing import Literal

sys.path.pop(0)  # this folder, whose instructor is this file
import instructor
import openai
import pydantic

base = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)


class Person(pydantic.BaseModel):
    name: Literal["Anna", "Boris"]
    age: int = pydantic.Field(ge=0, le=120)


for mode in instructor.Mode.TOOLS, instructor.Mode.TOOLS_STRICT, instructor.Mode.JSON_SCHEMA:
    client = instructor.from_openai(base, mode=mode)
    for seed in range(5):
        ask = {"model": "toy", "messages": [{"role": "user", "content": "Anna is"}], "max_retries": 0, "seed": seed}
        person = client.chat.completions.create(response_model=Person, **ask)
        assert isinstance(person, Person), (mode, person)
        *_, last = client.chat.completions.create_partial(response_model=Person, **ask)
        Person.model_validate(last.model_dump())
print("all is right")
