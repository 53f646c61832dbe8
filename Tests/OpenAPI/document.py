"""Checks openapi.yaml by itself: against the schema of OpenAPI 3.1, and each example in it against the schema beside it."""
import sys

import jsonschema
import openapi_spec_validator
import yaml


def resolved(document, value):
    while isinstance(value, dict) and "$ref" in value:
        target = document
        for step in value["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        value = target
    return value


def examples(document, value, path=()):
    """Each example with the schema that it has to satisfy and the place where it stands."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from examples(document, each, (*path, str(index)))
    elif isinstance(value, dict):
        if "schema" in value:
            if "example" in value:
                yield path, value["schema"], value["example"]
            for name, example in value.get("examples", {}).items():
                yield (*path, name), value["schema"], resolved(document, example)["value"]
        for name, each in value.items():
            yield from examples(document, each, (*path, name))


def main(path):
    with open(path) as file:
        document = yaml.safe_load(file)
    openapi_spec_validator.validate(document)
    count, faults = 0, []
    for place, schema, example in examples(document, document):
        # References go from the root of the document, which for the validator is the schema.
        schema = {"allOf": [schema], "components": document["components"]}
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        count += 1
        faults += [f"{'/'.join(place)}: {error.message}" for error in validator.iter_errors(example)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"openapi.yaml: {count} examples, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
