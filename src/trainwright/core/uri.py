"""URIs that may be written down: none that holds a password, a token or a signature."""

import re

from trainwright.core.errors import SpecError

_USERINFO = re.compile(r"^(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^/?#@]*)@", re.IGNORECASE)
_USER_IS_A_TOKEN = ("http", "https", "webdav", "hf")
"""Schemes whose ``user@`` is how people hand over a token; elsewhere it is an account or a container."""
_SECRET = frozenset(
    {"sig", "signature", "sign", "key", "apikey", "api_key", "auth", "authorization", "sas", "pwd", "passwd"}
)
_SECRET_PARTS = ("token", "secret", "password", "signature", "credential", "accesskey")
_PARAMETER = re.compile(r"[?&;]([^=&;#]*)=")


def refuse_secrets(uri: str, where: str = "") -> None:
    """Let a URI pass that may go into records.

    Raises:
        SpecError: TW2111 it holds ``user:password@``, a token, or a signature; the message does not repeat it.
    """
    what = ""
    userinfo = _USERINFO.match(uri)
    if userinfo:
        transport = userinfo["scheme"].lower().rpartition("+")[2]
        if ":" in userinfo["user"] or transport in _USER_IS_A_TOKEN:
            what = "who may read it (user:password@)"
    name = next((found for found in map(str.lower, _PARAMETER.findall(uri)) if _is_secret(found)), "")
    if name:
        what = f"a secret (the parameter {name})"
    if what:
        raise SpecError(
            "TW2111",
            f"{hide_secrets(uri)} holds {what}",
            where=where,
            why="what is read is recorded, and shown to everybody who may see the run",
            remedy="leave it out; credentials come from where it is read: AWS_*, HF_TOKEN, git's own helpers",
        )


def hide_secrets(uri: str) -> str:
    """Return the URI without the user and without everything after ``?`` that is not ours to show."""
    shown = _USERINFO.sub(r"\g<scheme>://…@", uri)
    head, mark, query = shown.partition("?")
    names = _PARAMETER.findall(mark + query)
    return f"{head}?{'&'.join(f'{name}=…' for name in names)}" if any(map(_is_secret, map(str.lower, names))) else shown


def _is_secret(name: str) -> bool:
    plain = name.replace("-", "").replace("_", "")
    return name in _SECRET or any(part in plain for part in _SECRET_PARTS)
