"""A model of which the drives move some joints only: the others are fixed, and all else of the file is untouched."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.errors import InputError, no_text, unknown_name
from stribeck.ident.export.xml_markup import Change, Element, attributes_set, child_added, elements, spliced
from stribeck.ident.model.files.stated_loops import StatedChain
from stribeck.ident.model.mechanism import Mechanism


def with_fixed_joints(model: Path, moving: Sequence[str]) -> tuple[bytes, tuple[str, ...]]:
    """Content of a URDF or MJCF whose other joints stand as the model draws them, and the names of those.

    A URDF's become fixed joints. An MJCF's are held by equality constraints, so that what else names them stays valid; joints
    that carry others cannot be held so.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    moving : sequence of str
        Joints that go on moving, with those that follow them.

    Raises
    ------
    InputError
        If a name is none of a joint with a drive of its own, or the file cannot be changed.
    """
    mechanism = mechanism_of(model, model.stem, None, stated=StatedChain(tuple(moving), source=str(model)))
    if mechanism.chain is not None:
        return model.read_bytes(), ()
    leaders = {one.name: mechanism.names[one.leader] for one in mechanism.followers if one.leader >= 0}
    for name in moving:
        if name in leaders:
            raise InputError(f"{model}: joint {name} follows {leaders[name]}; name that one")
        if name not in mechanism.names:
            raise unknown_name("joint", name, mechanism.names)
    fixed = tuple(name for name in mechanism.names if name not in moving)
    if not fixed:
        return model.read_bytes(), ()
    try:
        text = model.read_bytes().decode("utf-8")
        found = elements(text)
    except UnicodeDecodeError:
        raise no_text(model) from None
    except InputError as error:
        raise InputError(f"{model}: {error}") from None
    if found[0].tag == "robot":
        fixed = (*fixed, *_followers(mechanism, fixed, model))
        return spliced(text, list(_joints_fixed(text, found, fixed))).encode(), fixed
    held = "".join(f"<joint joint1={quoteattr(name)} polycoef=\"0 0 0 0 0\"/>" for name in fixed)
    return spliced(text, [child_added(text, found[0], f"<equality>{held}</equality>")]).encode(), fixed


def _followers(mechanism: Mechanism, fixed: Sequence[str], model: Path) -> Iterator[str]:
    """Joints that would follow fixed ones."""
    for one in mechanism.followers:
        leader = mechanism.names[one.leader]
        if one.leader >= 0 and leader in fixed:
            if one.shift:
                raise InputError(f"{model}: joint {one.name} stands at {one.shift:g} while {leader} is at zero, which a fixed "
                                 "joint cannot say; make both fixed by hand")
            yield one.name


def _joints_fixed(text: str, found: Sequence[Element], fixed: Sequence[str]) -> Iterator[Change]:
    for element in found:
        if element.tag == "joint" and element.path == ("robot",) and element.attributes.get("name") in fixed:
            yield attributes_set(text, element, {"type": "fixed"})
        elif element.tag == "mimic" and element.parent is not None and element.parent.attributes.get("name") in fixed:
            yield element.begin, element.end, ""
