"""openapi.yaml against the routes, the error codes, their titles and the types of audit events."""
import re

from .tree import ROOT, acts, compare, source, swift


def anonymous(operation):
    """To OpenAPI two paths are one when they differ in the names of parameters alone."""
    return re.sub(r"\{\w+\}", "{}", operation)


def check():
    # Read by lines, for a fresh machine has no YAML parser: the file keeps paths at two spaces and methods at four.
    api = (ROOT / "openapi.yaml").read_text()
    operations, path = [], None
    for line in api[api.index("\npaths:\n") : api.index("\ncomponents:\n")].splitlines():
        if match := re.match(r"  (/\S*):$", line):
            path = match[1]
        elif match := re.match(r"    (get|post|put|patch|delete):$", line):
            operations.append(f"{match[1].upper()} {path}")
        elif match := re.match(r"      x-scope: (\w+)$", line):
            operations[-1] += f" for {match[1]}"
    handlers = swift("HTTPServer", "HTTPAPI")
    routes = [
        f"{method.upper()} {template}"
        for method, template in re.findall(r'(?:Route|\bauthenticated)\(\s*\.(\w+),\s*"(/[^"]*)"', handlers)
    ] + [
        f"DELETE {template}" for template in re.findall(r'\bdeletion\(\s*"(/[^"]*)"', handlers)
    ] + [
        f"{method.upper()} /admin/v1{template} for {scope}"
        for method, template, scope in re.findall(r'operation\(\s*\.(\w+),\s*"(/[^"]*)",\s*\.(\w+)', handlers)
    ]
    routes += [f"{act.method} /admin/v1{act.template} for {act.scope}" for act in acts().values() if act.method]
    # Of the pages some paths are constants, and one is a setting. The console is no interface.
    pages = swift("WebPages")
    paths = dict(re.findall(r'let (\w+) = "(/(?:web|oauth)/[^"]*)"', pages))
    paths["path"] = re.search(r'"appFlip.path", \.path, default: "([^"]+)"', swift("countersign"))[1]
    routes += [
        f"{method.upper()} {template or paths[constant]}"
        for method, template, constant in re.findall(
            r'\bRoute\(\s*\.(\w+),\s*(?:"(/(?:web|oauth)/[^"]*)"|(?:(?:Self|AccountPath)\.)?(\w+)\b)', pages)
        if template or constant in paths
    ]
    compare(map(anonymous, routes), "the routes of HTTPAPI and WebPages", map(anonymous, operations), "openapi.yaml")

    problems = source("Problem")
    for text, enum, schema in (problems, "Code", "Code"), (source("AuditEvent"), "Kind", "AuditEventType"):
        declared = re.search(rf"\n    package enum {enum}\b.*?\n    }}\n", text, re.S)
        cases = re.findall(r'^        case \w+ = "(\w+)"', declared[0], re.M) if declared else []
        listed = re.search(rf"\n    {schema}:\n(?:      .*\n)*?      enum:\n((?:        - \w+\n)+)", api)
        compare(cases, enum, re.findall(r"- (\w+)", listed[1]) if listed else [], f"openapi.yaml: {schema}")

    # Each code has an example, with the title that it is answered with.
    wire = dict(re.findall(r'^        case (\w+) = "(\w+)"$', problems, re.M))
    titles = re.findall(r'^        case \.(\w+): "([^"]+)"$', problems, re.M)
    answered = [f"{wire.get(case, case)}: {title}" for case, title in titles]
    examples = map(": ".join, re.findall(r"^ +type: /problems/(\w+)\n +title: (.+)$", api, re.M))
    compare(answered, "Problem.swift", examples, "openapi.yaml: the examples")
