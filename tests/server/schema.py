# SPDX-License-Identifier: Apache-2.0
"""Whether JSON is what a schema says: as much of JSON Schema as /openapi.json has, and an error for anything else."""

TYPES = {"string": str, "boolean": bool, "object": dict, "array": list, "null": type(None)}
NOTES = {"description", "examples"}


class Wrong(Exception):
    pass


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def resolve(document, schema):
    while "$ref" in schema:
        found = document
        for key in schema["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        schema = found
    return schema


def check_object(document, schema, value, at):
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key in schema.get("required", []):
        if key not in value:
            raise Wrong(f"{at}: '{key}' is missing in {value!r:.200}")
    for key, one in value.items():
        if key in properties:
            check(document, properties[key], one, f"{at}.{key}")
        elif others is False:
            raise Wrong(f"{at}: nobody told of '{key}' ({one!r:.100})")
        elif others is not True:
            check(document, others, one, f"{at}.{key}")


def check_any(document, schemas, value, at):
    why = []
    for one in schemas:
        try:
            return check(document, one, value, at)
        except Wrong as wrong:
            why.append(str(wrong))
    raise Wrong(" / ".join(why))


def check(document, schema, value, at="$"):
    schema = resolve(document, schema)
    unknown = set(schema) - NOTES - {"type", "properties", "required", "additionalProperties", "items", "anyOf", "minimum"}
    if unknown:
        raise Wrong(f"{at}: this checker does not know {unknown}")
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        raise Wrong(f"{at}: {value!r:.100} is no {' or '.join(names)}")
    if "anyOf" in schema:
        check_any(document, schema["anyOf"], value, at)
    if isinstance(value, dict):
        check_object(document, schema, value, at)
    if isinstance(value, list):
        for index, one in enumerate(value):
            check(document, schema.get("items", {}), one, f"{at}[{index}]")
    if "minimum" in schema and is_type(value, "number") and value < schema["minimum"]:
        raise Wrong(f"{at}: {value} is less than {schema['minimum']}")
