"""Model file in which all joints but some are fixed; the rest of the file is unchanged."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from stribeck.ident.arm.load_mechanism import mechanism_of
from stribeck.ident.errors import InputError, no_text, unknown_name
from stribeck.ident.export.descriptions.xml_markup import (
    Change,
    Element,
    attributes_set,
    child_added,
    elements,
    spliced,
)
from stribeck.ident.model.files.stated_loops import StatedChain
from stribeck.ident.model.mechanism import Mechanism


def with_fixed_joints(model: Path, moving: Sequence[str]) -> tuple[bytes, tuple[str, ...]]:
    """Return the content of a URDF or MJCF with all other joints fixed at zero, and the
    names of the fixed joints.

    In a URDF, the joint type becomes "fixed". In an MJCF, equality constraints hold the joints, so
    that references to them stay valid; this is not possible for joints that carry other joints.

    Parameters
    ----------
    model : Path
        URDF or MJCF.
    moving : sequence of str
        Joints that keep moving, together with their followers (mimic joints).

    Raises
    ------
    InputError
        If a name is not the name of an independent joint, or the file cannot be changed.
    """
    mechanism = mechanism_of(
        model, model.stem, None, stated=StatedChain(tuple(moving), source=str(model))
    )
    if mechanism.chain is not None:
        return model.read_bytes(), ()
    leaders = {
        one.name: mechanism.names[one.leader] for one in mechanism.followers if one.leader >= 0
    }
    for name in moving:
        if name in leaders:
            raise InputError(
                f"{model}: joint {name} follows {leaders[name]}; give {leaders[name]} instead"
            )
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
    held = "".join(f'<joint joint1={quoteattr(name)} polycoef="0 0 0 0 0"/>' for name in fixed)
    return spliced(
        text, [child_added(text, found[0], f"<equality>{held}</equality>")]
    ).encode(), fixed


def _followers(mechanism: Mechanism, fixed: Sequence[str], model: Path) -> Iterator[str]:
    """Yield the followers (mimic joints) of the fixed joints."""
    for one in mechanism.followers:
        leader = mechanism.names[one.leader]
        if one.leader >= 0 and leader in fixed:
            if one.shift:
                raise InputError(
                    f"{model}: joint {one.name} is at {one.shift:g} when {leader} is at zero; a "
                    "fixed joint cannot have this offset. Fix both joints in the file by hand"
                )
            yield one.name


def _joints_fixed(text: str, found: Sequence[Element], fixed: Sequence[str]) -> Iterator[Change]:
    for element in found:
        if (
            element.tag == "joint"
            and element.path == ("robot",)
            and element.attributes.get("name") in fixed
        ):
            yield attributes_set(text, element, {"type": "fixed"})
        elif (
            element.tag == "mimic"
            and element.parent is not None
            and element.parent.attributes.get("name") in fixed
        ):
            yield element.begin, element.end, ""
