"""Checks openapi.yaml by itself: against the schema of OpenAPI 3.1, that each body has an example and each code of a refusal
one of its own, each example against the schema beside it, that generators of clients can read all of it, that an answer
may get further members, and that no 503 promises too much."""
import copy
import re
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
    """Each example with the schema that it has to satisfy and its path in the document."""
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


def bodies(value, path=()):
    """Each media type of a request or an answer, with its path in the document."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from bodies(each, (*path, str(index)))
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == "content":
                yield from (((*path, name, kind), body) for kind, body in each.items())
            yield from bodies(each, (*path, name))


def codes(document, schema):
    """The codes that a refusal may have by its own schema, apart from the list of all codes."""
    schema = resolved(document, schema)
    code = schema.get("properties", {}).get("code", {})
    yield from code.get("enum", [code["const"]] if "const" in code else [])
    for part in (*schema.get("allOf", []), *schema.get("oneOf", [])):
        yield from codes(document, part)


def lacking(document):
    """A fault for each body and each code without an example."""
    for place, body in bodies(document):
        given = [example for _, _, example in examples(document, body)]
        if not given:
            yield f"{'/'.join(place)}: has no example"
        shown = {example["code"] for example in given if isinstance(example, dict) and "code" in example}
        for code in sorted(set(codes(document, body["schema"])) - shown):
            yield f"{'/'.join(place)}: has no example of {code}"


def properties(document, schema):
    """Those of a schema and of its parts, each as often as one of them states it."""
    schema = resolved(document, schema)
    yield from schema.get("properties", {}).items()
    for part in schema.get("allOf", []):
        yield from properties(document, part)


def dropped(document, value, path=()):
    """A fault for what generators of clients leave out, with all that refers to it: an array of which they don't know what is
    in it, and a `const` for a property that another part of an `allOf` describes too."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from dropped(document, each, (*path, str(index)))
    elif isinstance(value, dict):
        if value.get("type") == "array" and "items" not in value:
            yield f"{'/'.join(path)}: an array without items"
        if "allOf" in value:
            stated = list(properties(document, value))
            for name in sorted({name for name, schema in stated if "const" in schema}):
                if [each for each, _ in stated].count(name) > 1:
                    yield f"{'/'.join(path)}: {name} is a const, and described elsewhere too: make it an enum"
        for name, each in value.items():
            if name not in ("example", "examples"):
                yield from dropped(document, each, (*path, name))


def closed(document, value, path=(), seen=None):
    """A fault for each closed schema of what the service sends: a client made of it refuses the next member that is added."""
    seen = set() if seen is None else seen
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from closed(document, each, (*path, str(index)), seen)
    elif isinstance(value, dict):
        if "$ref" in value:
            if value["$ref"] not in seen:
                seen.add(value["$ref"])
                yield from closed(document, resolved(document, value), (value["$ref"],), seen)
            return
        if value.get("additionalProperties") is False:
            yield f"{'/'.join(path)}: is closed, though an answer may get further members"
        for name, each in value.items():
            if name not in ("example", "examples"):
                yield from closed(document, each, (*path, name), seen)


def undone(document):
    """A fault for each 503 that is said to have done nothing: whether its transaction is committed may be unknown
    (docs/decisions/0017)."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            answer = operation.get("responses", {}).get("503") if isinstance(operation, dict) else None
            description = resolved(document, answer)["description"] if answer else ""
            if re.search(r"nothing\s+(was|is|has been)\s+done", description, re.IGNORECASE):
                yield f"{method} {path}: may have been done, though the answer is 503"


def sent(document):
    """What the service sends: its answers, and the bodies of webhooks."""
    for part, member in ("paths", "responses"), ("webhooks", "requestBody"):
        for path, item in document[part].items():
            for method, operation in item.items():
                if isinstance(operation, dict):
                    yield {path: {method: operation.get(member, {})}}


def parts(value):
    """The references of all that is composed by `allOf`."""
    if isinstance(value, list):
        for each in value:
            yield from parts(each)
    elif isinstance(value, dict):
        yield from (each["$ref"] for each in value.get("allOf", []) if "$ref" in each)
        for each in value.values():
            yield from parts(each)


def without_further_members(document):
    """The components, each object of which has the members that it describes and no more."""
    components = copy.deepcopy(document["components"])
    composed = set(parts(document))
    for name, schema in components["schemas"].items():
        if "properties" in schema and f"#/components/schemas/{name}" not in composed:
            schema.setdefault("unevaluatedProperties", False)
    return components


def main(path):
    with open(path) as file:
        document = yaml.safe_load(file)
    openapi_spec_validator.validate(document)
    count, faults = 0, [*lacking(document), *dropped(document, document), *closed(document, list(sent(document)))]
    faults += undone(document)
    # Further members may come in an answer; one in an example is misspelt.
    components = without_further_members(document)
    for place, schema, example in examples(document, document):
        # References go from the root of the document, which for the validator is the schema.
        schema = {"allOf": [schema], "unevaluatedProperties": False, "components": components}
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
        count += 1
        faults += [f"{'/'.join(place)}: {error.message}" for error in validator.iter_errors(example)]
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"openapi.yaml: {count} examples, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
