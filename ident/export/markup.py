"""Changing attributes in XML text without touching anything else of it."""

import re
from xml.parsers import expat

from ident.errors import InputError


def elements(text: str, tag: str) -> list[tuple[dict[str, str], int, int, int]]:
    """Every element with a tag: attributes, depth, and where its start tag begins and ends in the UTF-8 bytes.

    Raises
    ------
    InputError
        If the text is not well-formed XML.
    """
    data, found, depth = text.encode(), [], 0
    parser = expat.ParserCreate()

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if name == tag:
            begin = parser.CurrentByteIndex
            found.append((attributes, depth, begin, _end_of_tag(data, begin)))

    def end(_: str) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"not well-formed XML: {error}") from error
    return found


def _end_of_tag(data: bytes, begin: int) -> int:
    """Byte after the ``>`` that closes a start tag; ``>`` inside quotes does not count."""
    match = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""").match(data, begin)
    if match is None:
        raise InputError(f"unfinished tag at byte {begin}")
    return match.end()


def with_attributes(start_tag: str, attributes: dict[str, str]) -> str:
    """A start tag with attributes set; the others and the layout stay."""
    for name, value in attributes.items():
        found = re.search(rf"""\s{name}\s*=\s*("[^"]*"|'[^']*')""", start_tag)
        if found:
            begin, end = found.span(1)
        else:
            begin = end = re.search(r"\s*/?>$", start_tag).start()    # type: ignore[union-attr]  # every tag ends so
        new = f'"{value}"' if found else f' {name}="{value}"'
        start_tag = start_tag[:begin] + new + start_tag[end:]
    return start_tag


def spliced(text: str, changes: list[tuple[int, int, str]]) -> str:
    """Text with byte ranges replaced; ranges do not overlap."""
    data = text.encode()
    for begin, end, new in sorted(changes, reverse=True):
        data = data[:begin] + new.encode() + data[end:]
    return data.decode()
