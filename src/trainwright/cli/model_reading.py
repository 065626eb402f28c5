"""Commands that read one version of a model: what it is, what differs, its card, its files."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainwright.cli.pipeline import Json

if TYPE_CHECKING:
    from datetime import datetime

    from trainwright.service.dossier import Dossier

Address = Annotated[str, typer.Argument(help="NAME (its newest version), NAME/VERSION or NAME@ALIAS.")]


def add_to(model: typer.Typer) -> None:
    """Add the commands to ``tw model``."""
    model.command()(show)
    model.command()(diff)
    model.command()(card)
    model.command()(get)


def show(
    address: Address,
    at: Annotated[
        str, typer.Option("--at", metavar="DATE", help="What NAME@ALIAS was then: a date (its end, UTC) or an instant.")
    ] = "",
    json: Json = False,
) -> None:
    """Show one version: metrics, data, run, code, checks, signature, aliases, releases."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import dossier, models

    with session() as app:
        held = models.held_at(app.context, address, at) if at else None
        found = dossier.read(app.context, held.version.address if held else address)
        now = app.context.clock.now()
    if json:
        output.put_json({"held": held, **_fields(found)} if held else _fields(found))
        return
    if held is not None:
        output.say(f"{held.move.model}@{held.move.alias} at {held.at:%Y-%m-%d %H:%M:%S} UTC")
    output.put(found.version.address)
    for name, text in _facts(found, now):
        if text:
            output.put(f"  {name + ':':11} {text}")


def diff(
    left: Address,
    right: Address,
    everything: Annotated[bool, typer.Option("--all", help="Print what is equal, too.")] = False,
    json: Json = False,
) -> None:
    """Compare two versions: metrics, parameters, data, checks, signature, code, environment."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.codec import to_json
    from trainwright.service import dossier

    with session() as app:
        one, other = (dossier.read(app.context, address) for address in (left, right))
    lines = dossier.compare(one, other)
    if json:
        output.put_json(
            {
                "left": one.version.address,
                "right": other.version.address,
                "differs": [{**to_json(line), "equal": line.equal} for line in lines],
            }
        )
        return
    shown = [line for line in lines if everything or not line.equal]
    if not shown:
        output.say("nothing differs")
        return
    output.table(
        ("part", "name", one.version.address, other.version.address),
        [(line.part, line.name, _cell(line.left), _cell(line.right)) for line in shown],
    )


def card(address: Address, json: Json = False) -> None:
    """Print the model card as markdown: nothing but what is on record."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.service import dossier
    from trainwright.service.card import markdown

    with session() as app:
        found = dossier.read(app.context, address)
    if json:
        output.put_json(_fields(found))
    else:
        output.put(markdown(found).rstrip("\n"))


def get(
    address: Address,
    folder: Annotated[Path, typer.Argument(help="Where its files go; nothing may be there yet.")],
    json: Json = False,
) -> None:
    """Copy the files of a version out, verified by their digests; nothing of them is run."""
    from trainwright.cli import output
    from trainwright.cli.session import session
    from trainwright.core.quantity import show_bytes
    from trainwright.service.loading import fetch

    with session() as app:
        version, path = fetch(app.context, address, app.context.here / folder)
    if json:
        output.put_json({"version": version, "path": str(path)})
        return
    content = version.content
    output.put(f"{folder}  {version.address}, {content.files} file(s), {show_bytes(content.size_bytes)}")


def _fields(found: "Dossier") -> dict[str, object]:
    from trainwright.core.codec import to_json

    plain: dict[str, object] = to_json(found)
    plain["format"] = found.format._asdict()
    plain["data"] = to_json(found.data)
    plain["fingerprint_address"] = found.fingerprint.address
    return plain


def _facts(found: "Dossier", now: "datetime") -> Iterator[tuple[str, str]]:
    from trainwright.cli import output
    from trainwright.core.quantity import show_bytes
    from trainwright.service.why import gate_line

    version, run, code = found.version, found.run, found.fingerprint.code
    yield "aliases", ", ".join(version.aliases)
    yield "team", ", ".join(found.teams)
    yield "registered", f"{output.when(version.registered_at, now)} by {version.registered_by}"
    yield "run", f"{run.id}  {run.pipeline} #{run.number}, step {version.step}, {found.fingerprint.address}"
    yield "code", f"{code.commit[:10] or 'no commit'}{' + changes' if code.dirty or code.untracked else ''}"
    for data in found.data:
        note = "" if data.on_the_way else ", pinned, not read on the way"
        yield "data", f"{data.address}  {data.digest[7:19]}, {data.files} file(s), {show_bytes(data.size_bytes)}{note}"
    yield "params", "  ".join(f"{k}={_cell(v)}" for k, v in sorted(run.params.items()))
    yield "metrics", "  ".join(f"{k} {output.figure(v)}" for k, v in sorted(version.metrics.items()))
    for gate in version.gates:
        yield "check", gate_line(gate)
    yield "signature", _signature(found)
    kind = found.format
    framework = f" ({kind.framework})" if kind.framework else ""
    yield "format", (kind.name or "unknown") + framework + ("; loading it runs code" if kind.runs_code else "")
    content = version.content
    yield "content", f"{content.digest}, {content.files} file(s), {show_bytes(content.size_bytes)}"
    for release in found.releases:
        yield "release", f"{release.id} {release.state} {release.place or release.error}".rstrip()


def _signature(found: "Dossier") -> str:
    signature = found.version.signature
    if signature is None:
        return "none stated"
    sides = (signature.inputs, signature.outputs)
    shown = [", ".join(f"{name}: {kind}" if kind else name for name, kind in side.items()) for side in sides]
    return f"({shown[0]}) → ({shown[1]})  by the {signature.source}"


def _cell(value: object) -> str:
    import json

    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
