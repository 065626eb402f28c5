"""The JSON Schema of a pipeline file, for editors."""

from typing import Any

from trainwright.spec.models import PipelineModel


def json_schema() -> dict[str, Any]:
    """Return the schema (2020-12) that ``tw schema`` prints; the same at every call."""
    schema = PipelineModel.model_json_schema(by_alias=True)
    params = schema["properties"]["params"]
    params["additionalProperties"] = {
        "anyOf": [
            params["additionalProperties"],
            {"type": ["string", "number", "boolean", "array", "object"], "description": "its default, with its type"},
        ]
    }
    triggers = schema["properties"]["triggers"]
    schema["properties"]["triggers"] = {"anyOf": [triggers, triggers["items"]]}
    step = schema["$defs"]["StepModel"]["properties"]
    step["retry"] = {"anyOf": [{"type": "integer", "minimum": 0}, {"$ref": "#/$defs/RetryModel"}]}
    step["with"] = {"anyOf": [{"$ref": "#/$defs/RegisterModel"}, {"type": "object"}, {"type": "null"}]}
    modes = schema["$defs"]["CacheModel"]["properties"]["mode"]
    step["cache"] = {
        "anyOf": [{key: modes[key] for key in ("enum", "$ref") if key in modes}, {"$ref": "#/$defs/CacheModel"}]
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "trainwright pipeline",
    }
