"""Text of a pipeline file, or the tree that a Python file drew, to a checked ``Document``.

The only door to YAML and pydantic; both faces of the language go through the same checks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from trainwright.core.errors import Position
from trainwright.core.scalar import Plain
from trainwright.spec.document import Document, PipelineSpec
from trainwright.spec.findings import Findings
from trainwright.spec.links import Links
from trainwright.spec.meaning import is_declaration, pipeline_of
from trainwright.spec.models import misspelt_declaration
from trainwright.spec.reader import Tree, read
from trainwright.spec.shape import check_shape
from trainwright.spec.triggers import listed_path


def load(text: str, file: str) -> Document:
    """Return the pipeline in ``text``.

    Args:
        text: of the file.
        file: its name as the person typed it; only shown.

    Raises:
        SpecError: the first problem in the order of the file, with its line and column.
    """
    return _checked(read(text, file), file, text)


def load_tree(value: Plain, positions: Mapping[str, Position], file: str, warnings: tuple[str, ...] = ()) -> Document:
    """Return the pipeline that a document which is plain values already describes, such as a traced Python file.

    Args:
        value: the document.
        positions: where its values come from, by dotted path; what is absent is at the nearest thing around it.
        file: name as the person typed it; only shown.
        warnings: what whoever drew it has to say.

    Raises:
        SpecError: the first problem by line and column.
    """
    places = dict(_places(value, "", positions, Position(file, 1, 1)))
    document = _checked(Tree(value, places, {path: place for path, place in places.items() if path}), file, "")
    return replace(document, warnings=(*warnings, *document.warnings))


def _places(value: Plain, path: str, known: Mapping[str, Position], around: Position) -> Iterator[tuple[str, Position]]:
    """Yield a place for every value: rules ask by it whether a key is there, so none may lack one."""
    here = known.get(path, around)
    yield path, here
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _places(item, f"{path}.{key}" if path else str(key), known, here)


def _checked(tree: Tree, file: str, text: str) -> Document:
    findings = Findings()
    model = check_shape(tree, findings)
    findings.raise_first()
    assert model is not None  # without findings there is a model  # noqa: S101
    spec = pipeline_of(model, tree, findings)
    findings.raise_first()
    links = Links(spec, tree, text, findings)
    links.check()
    findings.raise_first()
    warnings = sorted([*links.warnings, *_habits(tree, spec), *_misspelt(tree)])
    positions = {listed_path(tree, path): place for path, place in tree.positions.items() if path}
    sentences = tuple(f"{p.file}:{p.line}: {sentence}" for p, sentence in warnings)
    return Document(spec, positions, file, sentences)


def _habits(tree: Tree, spec: PipelineSpec) -> Iterator[tuple[Position, str]]:
    """Yield values that YAML 1.1 read otherwise, unless a declared type leaves no doubt."""
    params = tree.value.get("params") if isinstance(tree.value, dict) else None
    declared = params if isinstance(params, dict) else {}
    settled = {f"params.{name}.default" for name in spec.params if _has_type(declared.get(name))}
    settled |= {f"steps.{name}.cache{key}" for name in spec.steps for key in ("", ".mode")}  # off is a word there
    for path, place, sentence in tree.habits:
        if path not in settled:
            yield place, sentence


def _has_type(value: object) -> bool:
    return isinstance(value, dict) and is_declaration(value) and value.get("type") in {"str", "bool", "float"}


def _misspelt(tree: Tree) -> Iterator[tuple[Position, str]]:
    params = tree.value.get("params") if isinstance(tree.value, dict) else None
    for name, value in (params or {}).items() if isinstance(params, dict) else ():
        sentence = misspelt_declaration(value)
        if sentence:
            yield tree.where(f"params.{name}"), f"parameter {name}: {sentence}"
