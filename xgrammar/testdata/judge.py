"""Says which documents follow a schema. Each line of the input is a JSON object with a schema and a list of documents, all as texts.
The line of the answer has a list of booleans, or null if package jsonschema does not read the schema."""
import json
import sys

import jsonschema


def number(text):
    raise ValueError(text)  # NaN and Infinity are not JSON


def follows(validator, text):
    try:
        return validator.is_valid(json.loads(text, parse_constant=number))
    except ValueError:
        return False


for line in sys.stdin:
    ask = json.loads(line)
    schema = json.loads(ask["schema"])
    answer = None
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        answer = [follows(validator, text) for text in ask["documents"]]
    except BaseException:  # of a reference that leads nowhere, or in circles
        pass
    print(json.dumps(answer), flush=True)
