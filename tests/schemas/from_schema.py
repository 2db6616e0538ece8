# SPDX-License-Identifier: Apache-2.0
"""Random values that a JSON Schema allows, and single changes to them.

Only the keywords that our schemas use are known; another one is an error, so that none is passed over.
"""

from hypothesis import strategies as st

TEXTS = st.text(alphabet="aA1:/.-_ é\u0301\n\\[]*", max_size=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([1.5, -0.5]) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
SAMPLES = {
    "instant": st.datetimes().map(lambda point: point.replace(microsecond=0).isoformat() + "Z"),
    "date": st.dates().map(lambda day: day.isoformat()),
}
KNOWN = {
    "$schema",
    "$id",
    "$defs",
    "$ref",
    "title",
    "description",
    "default",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "propertyNames",
    "items",
    "uniqueItems",
    "enum",
    "const",
    "pattern",
    "format",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "anyOf",
}


def values(schema, root=None):
    """Values that ``schema`` allows; ``root`` holds its ``$defs``."""
    root = root or schema
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"a keyword that this generator does not know: {unknown}")
    if "$ref" in schema:
        return values(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*(values(option, root) for option in schema["anyOf"]))
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return st.one_of(*(values(schema | {"type": kind}, root) for kind in kinds))
    return _of_kind(kinds, schema, root)


def _of_kind(kind, schema, root):
    match kind:
        case "null":
            return st.none()
        case "boolean":
            return st.booleans()
        case "integer":
            least = schema.get("minimum", -5)
            return st.integers(least, min(least + 9, schema.get("maximum", least + 9)))
        case "number":
            return st.floats(0, 1)
        case "string":
            return _text(schema)
        case "array":
            unique = (repr) if schema.get("uniqueItems") else None
            inner = values(schema.get("items", {}), root)
            return st.lists(inner, min_size=schema.get("minItems", 0), max_size=2, unique_by=unique)
        case "object":
            return _object(schema, root)
        case None:
            return ANYTHING
    raise ValueError(f"a type that this generator does not know: {kind}")


def _text(schema):
    if "format" in schema:
        return SAMPLES[schema["format"]]
    if "pattern" in schema:
        whole = schema["pattern"].startswith("^(?:")
        inner = (
            schema["pattern"][4:-2] if whole else schema["pattern"]
        )  # Python's $ matches before a line end too
        return st.from_regex(inner, fullmatch=whole)
    return st.text(alphabet="ab1 :é", min_size=schema.get("minLength", 0), max_size=8)


def _object(schema, root):
    required = set(schema.get("required", ()))
    fields = {name: values(inner, root) for name, inner in schema.get("properties", {}).items()}
    fixed = st.fixed_dictionaries(
        {name: inner for name, inner in fields.items() if name in required},
        optional={name: inner for name, inner in fields.items() if name not in required},
    )
    more = schema.get("additionalProperties", True)
    if more is False:
        return fixed
    names = values(schema.get("propertyNames", {"type": "string"}), root)
    inner = values({} if more is True else more, root)
    return st.builds(lambda some, rest: {**rest, **some}, fixed, st.dictionaries(names, inner, max_size=2))


@st.composite
def changed(draw, good):
    """A value of ``good`` with one change somewhere: a field dropped, added, or put in place of another."""
    value = draw(good)
    places = list(_places(value))
    path = draw(st.sampled_from(places))
    return _replaced(value, path, draw)


def _places(value, path=()):
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield from _places(inner, (*path, step))


def _replaced(value, path, draw):
    if path:
        step, *rest = path
        copy = dict(value) if isinstance(value, dict) else list(value)
        copy[step] = _replaced(value[step], rest, draw)
        return copy
    if isinstance(value, dict) and value and draw(st.booleans()):
        gone = draw(st.sampled_from(sorted(value)))
        return {name: inner for name, inner in value.items() if name != gone}
    if isinstance(value, dict) and draw(st.booleans()):
        return {**value, draw(st.sampled_from(["x", "Schema", "schema "])): draw(ANYTHING)}
    return draw(ANYTHING)
