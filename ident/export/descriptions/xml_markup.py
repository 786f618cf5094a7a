"""Changes of attributes and contents in XML text that leave the rest of the text as it is."""

import re
from dataclasses import dataclass
from xml.parsers import expat

from stribeck.ident.errors import InputError

_ATTRIBUTE = re.compile(r"""\s([^\s=/>]+)\s*=\s*("[^"]*"|'[^']*')""")
_START_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""")
Change = tuple[int, int, str]


@dataclass
class Element:
    """An element and where it stands in the UTF-8 bytes of the text.

    Attributes
    ----------
    tag : str
    attributes : dict of str to str
    parent : Element, optional
    begin, inside, close, end : int
        Where the start tag begins and ends, and the end tag begins and ends; ``inside ==
        end`` where it closes itself.
    """

    tag: str
    attributes: dict[str, str]
    parent: "Element | None"
    begin: int
    inside: int
    close: int = 0
    end: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """Tags from the root to the parent."""
        return () if self.parent is None else (*self.parent.path, self.parent.tag)


def elements(text: str) -> list[Element]:
    """Every element, in the order of the text.

    Raises
    ------
    InputError
        If the text is not well-formed XML.
    """
    data, found = text.encode(), []
    here: Element | None = None
    parser = expat.ParserCreate("UTF-8")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal here
        begin = parser.CurrentByteIndex
        match = _START_TAG.match(data, begin)
        if match is None:  # the element comes from an entity
            raise InputError(
                "an element comes from an XML entity; write the element itself in its place"
            )
        here = Element(tag, attributes, here, begin, match.end())
        found.append(here)

    def end(_: str) -> None:
        nonlocal here
        assert here is not None
        if data[here.inside - 2 : here.inside] == b"/>":
            here.close = here.end = here.inside
        else:
            here.close = parser.CurrentByteIndex
            here.end = data.index(b">", here.close) + 1
        here = here.parent

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(f"not well-formed XML: {error}") from error
    return found


def attributes_set(text: str, element: Element, attributes: dict[str, str]) -> Change:
    """Return the change that sets attributes of an element and keeps its other
    attributes and its layout.
    """
    data = text.encode()
    return (
        element.begin,
        element.inside,
        with_attributes(data[element.begin : element.inside].decode(), attributes),
    )


def with_attributes(start_tag: str, attributes: dict[str, str]) -> str:
    """Return a start tag with attributes set; other attributes and the layout stay."""
    for name, value in attributes.items():
        found = next((match for match in _ATTRIBUTE.finditer(start_tag) if match[1] == name), None)
        if found:
            begin, end, new = *found.span(2), f'"{value}"'
        else:
            begin = end = re.search(r"\s*/?>$", start_tag).start()  # type: ignore[union-attr]  # every tag ends so
            new = f' {name}="{value}"'
        start_tag = start_tag[:begin] + new + start_tag[end:]
    return start_tag


def content_set(text: str, element: Element, content: str) -> Change:
    """Return the change that replaces the content of an element."""
    if element.inside == element.end:  # <a/>
        tag = text.encode()[element.begin : element.inside].decode()
        return element.begin, element.end, f"{tag[:-2].rstrip()}>{content}</{element.tag}>"
    return element.inside, element.close, content


def child_added(text: str, element: Element, child: str) -> Change:
    """Return the change that adds a last child to an element, on its own line if the
    siblings have their own lines.
    """
    data = text.encode()
    if element.inside == element.end:
        return content_set(text, element, child)
    inside = data[element.inside : element.close]
    indent = re.match(rb"\s*", inside)[0] if inside.strip() else b""  # type: ignore[index]  # matches nothing at least
    at = element.inside + len(inside.rstrip())
    return at, at, indent.decode() + child


def with_comment(text: str, begin: str, comment: str) -> str:
    """Return the XML with a comment before its root element; an older comment with
    the same begin is replaced.
    """
    ending = "\r\n" if "\r\n" in text else "\n"
    line = f"<!-- {begin}{re.sub('-(?=-)', '- ', comment)} -->{ending}"
    old = re.search(rf"<!-- {re.escape(begin)}.*? -->\r?\n", text)
    if old is not None:
        return text[: old.start()] + line + text[old.end() :]
    root = elements(text)[0].begin
    data = text.encode()
    return (data[:root] + line.encode() + data[root:]).decode()


def spliced(text: str, changes: list[Change]) -> str:
    """Return the text with byte ranges replaced; ranges must not overlap."""
    data = text.encode()
    for begin, end, new in sorted(changes, reverse=True):
        data = data[:begin] + new.encode() + data[end:]
    return data.decode()


def child_of(found: list[Element], parent: Element, tag: str) -> Element | None:
    """Return the first child of an element with a tag; None without one."""
    return next(
        (
            element
            for element in found
            if element.parent is not None
            and element.parent.begin == parent.begin
            and element.tag == tag
        ),
        None,
    )
