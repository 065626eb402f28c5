"""The model card as markdown: nothing but what is on record, and the words of its author as they stand."""

import re
from collections.abc import Iterable, Iterator, Sequence

from trainwright.core.quantity import show_bytes
from trainwright.core.scalar import Plain, render_scalar
from trainwright.service.dossier import Dossier, locks

_SPECIAL = re.compile(r"([\\`*_{}\[\]|~$])")
_WHITE = re.compile(r"\s+")
_LANDMARKS = ("numpy", "scikit-learn", "torch", "xgboost", "lightgbm", "tensorflow", "jax", "pandas", "polars")
"""Packages that are named in a card; the whole list is in the fingerprint."""


def markdown(dossier: Dossier) -> str:
    """Return the card; equal records give equal text."""
    version = dossier.version
    lines = [f"# Model card: {plain(version.address)}", ""]
    lines += _list(_facts(dossier))
    for title, body in (
        ("Data", _data(dossier)),
        ("Metrics", _table(("metric", "value"), [(k, f"{v:.6g}") for k, v in sorted(version.metrics.items())])),
        ("Checks", _checks(dossier)),
        ("Signature", _signature(dossier)),
        ("Parameters", _table(("parameter", "value"), [(k, _value(v)) for k, v in sorted(dossier.run.params.items())])),
        ("Code and environment", _list(_code(dossier))),
        ("Aliases", _history(dossier)),
        ("Releases", _releases(dossier)),
        ("How it came about", _lineage(dossier)),
        ("How to make it again", _again(dossier)),
        ("What the record does not say", _list(("", text) for text in dossier.missing)),
        ("In the words of its author", _words(dossier.words)),
    ):
        if body:
            lines += ["", f"## {title}", "", *body]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    r"""Return a text that markdown shows as it stands: ``*`` is ``\*``, ``<`` is ``&lt;``, one line."""
    text = _WHITE.sub(" ", text).strip()
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", text)


def _value(value: Plain) -> str:
    return render_scalar(value) if not isinstance(value, list | dict) else str(value)


def _list(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [f"- {plain(name)}: {plain(text)}" if name else f"- {plain(text)}" for name, text in facts if text]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in rows]
    return [f"| {' | '.join(columns)} |", "|" + " --- |" * len(columns), *lines] if lines else []


def _facts(dossier: Dossier) -> Iterator[tuple[str, str]]:
    version = dossier.version
    yield "aliases", ", ".join(version.aliases)
    yield "team", ", ".join(dossier.teams)
    yield "registered", f"{version.registered_at:%Y-%m-%d %H:%M} UTC by {version.registered_by}"
    content = version.content
    yield "content", f"{content.digest}, {content.files} file(s), {show_bytes(content.size_bytes)}"
    kind = dossier.format
    framework = f" ({kind.framework})" if kind.framework else ""
    yield "format", (kind.name or "unknown") + framework + ("; loading it runs code" if kind.runs_code else "")


def _data(dossier: Dossier) -> list[str]:
    return _table(
        ("data", "digest", "files", "size", ""),
        [
            (d.address, d.digest[7:19], str(d.files), show_bytes(d.size_bytes), "" if d.on_the_way else "pinned")
            for d in dossier.data
        ],
    )


def _checks(dossier: Dossier) -> list[str]:
    return _table(
        ("check", "verdict", "values", "against"),
        [
            (g.expression, g.verdict, ", ".join(f"{k} = {_value(v)}" for k, v in g.values.items()), g.baseline)
            for g in dossier.version.gates
        ],
    )


def _signature(dossier: Dossier) -> list[str]:
    signature = dossier.version.signature
    if signature is None:
        return []
    rows = [("input", name, kind or "any") for name, kind in signature.inputs.items()]
    rows += [("output", name, kind or "any") for name, kind in signature.outputs.items()]
    return [f"Stated by the {plain(signature.source)}.", "", *_table(("", "name", "type"), rows)]


def _code(dossier: Dossier) -> Iterator[tuple[str, str]]:
    print_ = dossier.fingerprint
    code, environment = print_.code, print_.environment
    changed = " with uncommitted changes" if code.dirty or code.untracked else ""
    yield "commit", f"{code.commit}{changed}" if code.commit else "none"
    yield "code tree", code.tree
    yield "python", environment.python
    yield "packages", ", ".join(f"{n} {environment.packages[n]}" for n in _LANDMARKS if n in environment.packages)
    yield "locks", ", ".join(f"{source} ({key})" for source, key in locks(dossier).items())
    yield "environment", "locked" if environment.locked else "not locked: what was installed is on record"
    yield "machine", f"{print_.hardware.cpu}, {print_.hardware.cores} cores, gpus: {len(print_.hardware.gpus)}"


def _history(dossier: Dossier) -> list[str]:
    number = dossier.version.version
    return _table(
        ("when (UTC)", "alias", "", "who", "why", "evidence"),
        [
            (
                f"{move.moved_at:%Y-%m-%d %H:%M}",
                move.alias,
                "came here" if move.after == number else f"left for {move.after}",
                move.moved_by,
                move.reason,
                f"{sum(said.passed for said in move.evidence)} of {len(move.evidence)} rules" if move.evidence else "",
            )
            for move in sorted(dossier.moves, key=lambda m: (m.moved_at, m.alias, m.revision))
        ],
    )


def _releases(dossier: Dossier) -> list[str]:
    return _table(
        ("release", "when (UTC)", "state", "place"),
        [(r.id, f"{r.asked_at:%Y-%m-%d %H:%M}", r.state, r.place or r.error) for r in dossier.releases],
    )


def _lineage(dossier: Dossier) -> list[str]:
    version, run = dossier.version, dossier.run
    made = f"output {version.output} of step {version.step}, run {run.id} ({run.pipeline} #{run.number}, {run.source})"
    return [f"{plain(made)}. The whole graph: `tw lineage models/{version.name}/{version.version}`."]


def _again(dossier: Dossier) -> list[str]:
    return ["```bash", f"tw reproduce {dossier.run.id}", "```", "", f"Fingerprint `{dossier.fingerprint.address}`."]


def _words(text: str) -> list[str]:
    """Return the author's text in a fence that nothing in it can close."""
    if not text.strip():
        return []
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", text.rstrip("\n"), fence]
