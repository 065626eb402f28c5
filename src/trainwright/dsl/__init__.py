"""The Python face of the language: functions and decorators that draw the document which YAML parses to."""
