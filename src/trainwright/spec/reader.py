"""YAML 1.2 to plain values with the line and column of each; only the parser of ruamel.yaml is used.

Built from the parser's events, because composed nodes no longer tell a written tag from a guessed one. Plain scalars
are typed by ``core.scalar.parse_scalar``; quoted ones are always text. A merge key (``<<``) is shallow: a key of the
mapping itself replaces the merged one whole.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.reader import ReaderError

from trainwright.core.errors import Position
from trainwright.core.scalar import Plain, parse_scalar
from trainwright.spec.findings import refuse
from trainwright.spec.habits import habit

DEEPEST = 40
"""Levels of nesting; more is a mistake or an attack."""

MOST_VALUES = 50_000
"""Values after aliases are followed; a few lines of nested aliases can stand for billions."""

MERGE = "<<"
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq")}
_TEXT_TAG = "tag:yaml.org,2002:str"
_SURROGATE = re.compile("[\ud800-\udfff]")


Event: TypeAlias = Any  # ruamel.yaml has no types that say which event has which field


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the file; shared by its aliases.

    Attributes:
        value: scalar, list of nodes, or key → (place of the key, node).
        source: text of a plain scalar as written; None for quoted ones.
        block: a list or mapping over several lines, which is best shown by its key.
    """

    where: Position
    value: "bool | int | float | str | list[Node] | dict[str, tuple[Position, Node]] | None"
    source: str | None = None
    block: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """A file as plain values.

    Attributes:
        positions: where each value stands, by dotted path.
        keys: where each key stands, by the path of its value.
        sources: plain scalars that are not text, as written, by path.
        habits: path, place and sentence of each value that YAML 1.1 would have read otherwise.
    """

    value: Plain
    positions: dict[str, Position] = field(default_factory=dict)
    keys: dict[str, Position] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    habits: list[tuple[str, Position, str]] = field(default_factory=list)

    def where(self, path: str) -> Position:
        """Return the place of a value, or of the nearest thing around it."""
        while path and path not in self.positions:
            path = path.rpartition(".")[0]
        return self.positions[path]


def read(text: str, file: str) -> Tree:
    """Return the values of one YAML document.

    Raises:
        SpecError: not YAML, or a part of it that is not used here.
    """
    try:
        root = _Builder(text, file).document()
    except MarkedYAMLError as error:
        _refuse_syntax(error, text, file)
    except ReaderError as error:
        head = text[: error.position].split("\n")
        shown = f"U+{error.character:04X}" if isinstance(error.character, int) else repr(error.character)
        place = Position(file, len(head), len(head[-1]) + 1)
        refuse(place, "TW1001", f"the character {shown} may not stand in a YAML file", remedy="remove it")
    except YAMLError as error:
        refuse(Position(file, 1, 1), "TW1001", f"not YAML: {str(error).splitlines()[0]}")
    tree = Tree(_plain(root))
    _flatten(root, "", tree)
    return tree


def read_value(text: str) -> Plain:
    """Return the value that ``text`` stands for on a command line: ``[1, 2]``, ``{a: 1}``.

    Raises:
        SpecError: not YAML.
    """
    return read(text, "command line").value


class _Builder:
    """Consumes the events of one document."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.events: Iterator[Event] = iter(YAML(typ="safe", pure=True).parse(text))
        self.anchors: dict[str, Node | None] = {}
        self.depth = 0

    def document(self) -> Node:
        next(self.events)
        start = next(self.events)
        if isinstance(start, StreamEndEvent):
            refuse(Position(self.file, 1, 1), "TW1002", "the file is empty", remedy="begin with pipeline: NAME")
        root = self.node(next(self.events), ())
        next(self.events)
        after = next(self.events)
        if isinstance(after, DocumentStartEvent):
            refuse(
                self.place(after),
                "TW1004",
                "a second document begins here",
                why="a file holds one pipeline",
                remedy="put it into a file of its own",
            )
        return root

    def place(self, event: Event) -> Position:
        return Position(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def node(self, event: Event, path: tuple[str, ...]) -> Node:
        if isinstance(event, AliasEvent):
            return self.alias(event)
        self.refuse_tag(event)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.depth += 1
        if self.depth > DEEPEST:
            refuse(self.place(event), "TW1004", f"nested more than {DEEPEST} levels deep")
        if isinstance(event, ScalarEvent):
            node = self.scalar(event)
        elif isinstance(event, SequenceStartEvent):
            node = Node(self.place(event), self.sequence(path), block=not event.flow_style)
        else:
            node = Node(self.place(event), self.mapping(path), block=not event.flow_style)
        self.depth -= 1
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def alias(self, event: Event) -> Node:
        if event.anchor not in self.anchors:
            known = ", ".join(sorted(self.anchors))
            refuse(
                self.place(event),
                "TW1004",
                f"no anchor &{event.anchor} stands before this alias",
                remedy=f"anchors so far: {known}" if known else "write text that begins with * in quotes",
            )
        node = self.anchors[event.anchor]
        if node is None:
            refuse(self.place(event), "TW1004", f"the alias *{event.anchor} stands inside what it stands for")
        return node

    def refuse_tag(self, event: Event) -> None:
        if event.tag in {None, "!"} or event.tag in _CORE_TAGS or event.tag == _TEXT_TAG:
            return
        refuse(
            self.place(event),
            "TW1004",
            f"the tag {event.tag} is not used in pipeline files",
            remedy="leave it out; quotes make text",
        )

    def scalar(self, event: Event) -> Node:
        place = self.place(event)
        if _SURROGATE.search(event.value):
            refuse(place, "TW1001", "half of a surrogate pair is not a character", remedy=r"write it as \U0001F600")
        if event.style or event.tag:
            return Node(place, event.value)
        try:
            return Node(place, parse_scalar(event.value), event.value)
        except ValueError:
            refuse(place, "TW1013", f"a number of {len(event.value)} digits is too long", remedy="write it in quotes")

    def sequence(self, path: tuple[str, ...]) -> list[Node]:
        items: list[Node] = []
        while not isinstance(event := next(self.events), SequenceEndEvent):
            items.append(self.node(event, (*path, str(len(items)))))
        return items

    def mapping(self, path: tuple[str, ...]) -> dict[str, tuple[Position, Node]]:
        own: dict[str, tuple[Position, Node]] = {}
        merged: dict[str, tuple[Position, Node]] = {}
        merges = 0
        while not isinstance(event := next(self.events), MappingEndEvent):
            place = self.place(event)
            key, is_merge = self.key(event)
            value_event = next(self.events)
            value = self.node(value_event, (*path, key))
            if is_merge:
                merges += 1
                if merges > 1:
                    refuse(place, "TW1003", "<< is written twice in one mapping", remedy="write <<: [*a, *b]")
                merged = _merged(value, place)
                continue
            if key in own:
                _refuse_twice(key, own[key][0], place, path)
            own[key] = (place, value)
        return {**{k: v for k, v in merged.items() if k not in own}, **own}

    def key(self, event: Event) -> tuple[str, bool]:
        """Return the text of a key and whether it is a merge key."""
        if isinstance(event, AliasEvent):
            node = self.alias(event)
            text = node.source if node.source is not None else node.value
            if not isinstance(text, str):
                _refuse_key(self.place(event))
            return unicodedata.normalize("NFC", text), False
        if not isinstance(event, ScalarEvent):
            _refuse_key(self.place(event))
        self.refuse_tag(event)
        node = self.scalar(event)
        if event.anchor:
            self.anchors[event.anchor] = node
        return unicodedata.normalize("NFC", event.value), event.value == MERGE and not event.style


def _refuse_key(place: Position) -> NoReturn:
    refuse(place, "TW1004", "a list or mapping cannot be a key", remedy="use text as a key")


def _refuse_twice(key: str, first: Position, second: Position, path: tuple[str, ...]) -> None:
    if path == ("steps",):
        message = f"duplicate name: two steps are called {key!r} (lines {first.line} and {second.line})"
        refuse(second, "TW1003", message, remedy="give one of them another name")
    message = f"duplicate key {key!r} (lines {first.line} and {second.line})"
    remedy = f"keep one of the two, or put both into one {key}:"
    refuse(second, "TW1003", message, why="the second would silently replace the first", remedy=remedy)


def _merged(node: Node, place: Position) -> dict[str, tuple[Position, Node]]:
    """Return what a merge key brings; of several mappings the first one that has a key wins."""
    sources = node.value if isinstance(node.value, list) else [node]
    found: dict[str, tuple[Position, Node]] = {}
    for source in sources:
        if not isinstance(source.value, dict):
            refuse(place, "TW1004", "<< takes a mapping or a list of mappings", remedy="write <<: *anchor")
        found = {**source.value, **found}
    return found


def _plain(root: Node) -> Plain:
    """Return the value below ``root``, copying what aliases share, within ``MOST_VALUES``."""
    left = MOST_VALUES

    def walk(node: Node, depth: int) -> Plain:
        nonlocal left
        left -= 1
        if left < 0:
            message = f"the file holds more than {MOST_VALUES} values, those behind aliases counted each time"
            refuse(root.where, "TW1004", message, remedy="write less by alias")
        if depth > DEEPEST:
            refuse(node.where, "TW1004", f"nested more than {DEEPEST} levels deep by aliases")
        if isinstance(node.value, list):
            return [walk(item, depth + 1) for item in node.value]
        if isinstance(node.value, dict):
            return {key: walk(item, depth + 1) for key, (_, item) in node.value.items()}
        return node.value

    return walk(root, 1)


def _flatten(node: Node, path: str, tree: Tree) -> None:
    """Fill the tables of ``tree``; its value has been counted before."""
    tree.positions[path] = tree.keys.get(path, node.where) if node.block else node.where
    if isinstance(node.value, list):
        for index, item in enumerate(node.value):
            _flatten(item, f"{path}.{index}" if path else str(index), tree)
    elif isinstance(node.value, dict):
        for key, (place, item) in node.value.items():
            below = f"{path}.{key}" if path else key
            tree.keys[below] = place
            _flatten(item, below, tree)
    elif node.source is not None:
        if not isinstance(node.value, str):
            tree.sources[path] = node.source
        sentence = habit(node.source)
        if sentence:
            tree.habits.append((path, node.where, sentence))


def _refuse_syntax(error: Event, text: str, file: str) -> NoReturn:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.removeprefix("\ufeff").splitlines()
    source = lines[line] if line < len(lines) else ""
    place = Position(file, line + 1, column + 1)
    if column and source[column - 1 : column + 2] == "${{" and "flow" in str(error.context):
        refuse(
            Position(file, line + 1, column),
            "TW1005",
            "${{ }} cannot stand bare inside a one-line mapping or list",
            why="there YAML reads { as the beginning of another mapping",
            remedy="write it in quotes or on a line of its own",
        )
    problem = str(error.problem or error)
    remedy = ""
    if "'\\t'" in problem:
        problem, remedy = "a tab stands where YAML allows only spaces", "indent with spaces"
    elif "mapping values are not allowed" in problem:
        problem, remedy = (
            "a colon and a space inside plain text",
            "write the text in quotes, or begin a line with run: |",
        )
    elif "scanning an alias" in (error.context or ""):
        problem, remedy = "plain text begins with *", 'write it in quotes, as in cron: "*/10 * * * *"'
    elif error.context_mark:
        first = error.context_mark.line + 1
        problem = f"{problem} ({error.context} from line {first})"
        if "flow" in error.context or "quoted" in error.context:
            remedy = f"close what line {first} opens"
    refuse(place, "TW1001", f"not YAML: {problem}", remedy=remedy)
