"""Validates every *.yaml of a folder against its schema.json with the jsonschema package.

Prints {file: errors, one a line, empty for none}. YAML is read as editors read it (the core schema
of YAML 1.2): `yes` and dates are text.
"""

import json
import pathlib
import re
import sys

import jsonschema
import yaml


class Core(yaml.SafeLoader):
    yaml_implicit_resolvers = {}


for tag, pattern, first in [
    ("tag:yaml.org,2002:bool", r"^(true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(null|Null|NULL|~|)$", ["n", "N", "~", ""]),
    ("tag:yaml.org,2002:int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"^[-+]?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?$", "-+0123456789"),
]:
    Core.add_implicit_resolver(tag, re.compile(pattern), list(first))

folder = pathlib.Path(sys.argv[1])
schema = json.loads((folder / "schema.json").read_text())
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)


def leaves(error):
    """The complaints at the bottom: an anyOf says why each of its branches does not hold."""
    return [leaf for inner in error.context for leaf in leaves(inner)] or [error.message]


out = {}
for file in sorted(folder.glob("*.yaml")):
    document = yaml.load(file.read_text(), Core)
    out[file.name] = "\n".join(m for e in validator.iter_errors(document) for m in leaves(e))
print(json.dumps(out))
