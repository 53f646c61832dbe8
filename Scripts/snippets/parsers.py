"""Languages whose blocks are parsed, each by its own program."""
import json
import re
import subprocess
from xml.etree import ElementTree

import yaml

from .blocks import ROOT

FOLDER = ROOT / ".local/snippets"


def shell(blocks):
    return [fault for block in blocks if (fault := refused(block, ["bash", "-n"], block.text))]


def console(blocks):
    """Lines that a person types, after `$`; the others are what they see."""
    faults = []
    for block in blocks:
        typed = "".join(f"{line[2:]}\n" for line in block.text.splitlines() if line.startswith("$ "))
        if not typed:
            faults.append(f"{block}: a console without a line that begins with $")
        elif fault := refused(block, ["bash", "-n"], typed):
            faults.append(fault)
    return faults


def javascript(blocks):
    node = subprocess.run([ROOT / "Scripts/node"], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    FOLDER.mkdir(parents=True, exist_ok=True)
    faults = []
    for block in blocks:
        file = FOLDER / "block.mjs"
        file.write_text(block.text)
        if fault := refused(block, [node, "--check", file], ""):
            faults.append(fault)
    return faults


def python(blocks):
    faults = []
    for block in blocks:
        try:
            compile(block.text, str(block), "exec")
        except SyntaxError as error:
            faults.append(f"{block}: {error}")
    return faults


def json_text(blocks):
    """With `…` for what is left out: of a string, of an array or object, or after the last member."""
    faults = []
    for block in blocks:
        text = re.sub(r"//[^\"\n]*$", "", block.text, flags=re.M)
        text = re.sub(r",?\s*…(?=\s*[\]}])", "", text)
        text = re.sub(r"([{\[])\s*…\s*,?", r"\1", text)
        # A block may have several values.
        while text := text.strip():
            try:
                _, end = json.JSONDecoder().raw_decode(text)
            except ValueError as error:
                faults.append(f"{block}: {error}")
                break
            text = text[end:]
    return faults


def yaml_text(blocks):
    faults = []
    for block in blocks:
        try:
            list(yaml.safe_load_all(block.text))
        except yaml.YAMLError as error:
            faults.append(f"{block}: {error}")
    return faults


def xml(blocks):
    """Parts of an Android manifest."""
    faults = []
    for block in blocks:
        try:
            ElementTree.fromstring(f'<manifest xmlns:android="http://schemas.android.com/apk/res/android">{block.text}</manifest>')
        except ElementTree.ParseError as error:
            faults.append(f"{block}: {error}")
    return faults


def refused(block, command, text):
    result = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return f"{block}: {result.stdout.strip()}" if result.returncode else None


CHECKS = {
    "sh": shell, "bash": shell, "console": console, "javascript": javascript, "python": python, "json": json_text,
    "yaml": yaml_text, "xml": xml,
}
