"""Every error code and what it stands for: the only list; codes are never renumbered.

TW1 spec and plan · TW2 command line and environment · TW3 refused by a rule · TW4 not found · TW5 conflict ·
TW6 backend · TW9 our own mistake.
"""

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "TW1001": "the file is not YAML",
    "TW1002": "the file is empty or not a mapping",
    "TW1003": "a key or a name is written twice",
    "TW1004": "a part of YAML that pipeline files do not use",
    "TW1005": "${{ }} stands in a one-line mapping or list",
    "TW1006": "the apiVersion is not supported",
    "TW1010": "unknown key",
    "TW1011": "a key of the language that is not supported yet",
    "TW1012": "a key is missing",
    "TW1013": "a value has the wrong shape",
    "TW1014": "a word is not one of those possible here",
    "TW1015": "not a name",
    "TW1016": "not an amount or a duration",
    "TW1017": "keys that do not go together",
    "TW1020": "not a reference",
    "TW1021": "a reference to something that does not exist",
    "TW1022": "a reference where the shell would not take it as data",
    "TW1023": "a reference where none is replaced",
    "TW1030": "a parameter is declared wrongly",
    "TW1031": "unknown parameter",
    "TW1032": "the value of a parameter has the wrong type",
    "TW1033": "a parameter has no value",
    "TW1034": "the value of a parameter is not a finite number",
    "TW1040": "a check is not in the language of conditions",
    "TW1041": "a check against production without one model to compare with",
    "TW1050": "steps wait for one another in a circle",
    "TW1051": "a step reads what it writes",
    "TW1052": "depends_on names no step",
    "TW1060": "a register step names no model",
    "TW1061": "a standard pipeline lacks stages",
    "TW3101": "the value of a parameter is outside what the pipeline allows",
    "TW3201": "nobody checks a model before it is registered",
    "TW3202": "an alias that only a promotion may move",
    "TW9001": "a plan was compiled without its data pinned",
}
