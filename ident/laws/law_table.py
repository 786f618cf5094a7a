"""Tables of the friction laws and of the quantities, by name."""

from stribeck.ident.errors import InputError, unknown_name
from stribeck.ident.laws.coulomb_viscous import COULOMB_VISCOUS, QUADRATIC
from stribeck.ident.laws.curved_viscous import (
    KINKED,
    POWER,
    ROUNDED_KINK,
    SATURATING,
    STRIBECK_FREE_POWER,
    STRIBECK_POWER,
)
from stribeck.ident.laws.law import Law
from stribeck.ident.laws.loaded_viscous import LOADED_VISCOUS, STRIBECK_LOADED_VISCOUS
from stribeck.ident.laws.quantity import BESIDE, COMPONENTS, MEMORY, TEMPERATURE, Quantity
from stribeck.ident.laws.smooth import ANDERSSON, BROWN_MCPHEE
from stribeck.ident.laws.stribeck import STRIBECK, STRIBECK_FREE, TUSTIN
from stribeck.ident.plugins import installed, load

GROUP = "stribeck.laws"  # entry points of laws from plug-in packages: each a `Law`

LAWS: dict[str, Law] = {
    law.name: law
    for law in (
        COULOMB_VISCOUS,
        STRIBECK,
        STRIBECK_FREE,
        TUSTIN,
        BROWN_MCPHEE,
        ANDERSSON,
        QUADRATIC,
        POWER,
        SATURATING,
        KINKED,
        ROUNDED_KINK,
        STRIBECK_POWER,
        STRIBECK_FREE_POWER,
        LOADED_VISCOUS,
        STRIBECK_LOADED_VISCOUS,
    )
}
# compete if load growth varies with speed
WITH_LOADED_VISCOUS = (LOADED_VISCOUS.name, STRIBECK_LOADED_VISCOUS.name)


def register(law: Law) -> Law:
    """Add a law to the table, so that fits, options, files, reports and exports know its name.

    Raises
    ------
    InputError
        If the name is taken, or a quantity of the same name is registered with other properties.
    """
    if law.name in LAWS:
        raise InputError(f"a law named {law.name} is registered already; choose another name")
    known = quantities()
    for quantity in law.quantities:
        if known.get(quantity.name, quantity) != quantity:
            raise InputError(
                f"the law {law.name} defines the quantity {quantity.name} differently from the "
                "registered quantity of this name; use the registered quantity, or another name"
            )
    LAWS[law.name] = law
    return law


def law_named(name: str) -> Law:
    """Return a law by name, from the table or from an installed plug-in package.

    Raises
    ------
    InputError
        If no law has this name; lists the laws.
    """
    if name not in LAWS and is_law(name):
        law = load(GROUP, name)
        if not isinstance(law, Law) or law.name != name:
            raise InputError(
                f"the entry point {name} of the group {GROUP} must be a law named {name}; it is "
                f"{law!r}"
            )
        register(law)
    if name not in LAWS:
        raise unknown_name("law", name, law_names())
    return LAWS[name]


def is_law(name: str) -> bool:
    """Return whether a law of this name is in the table or in an installed plug-in
    package, without loading it.
    """
    return name in LAWS or name in installed(GROUP)


def law_names() -> tuple[str, ...]:
    """Return the names of all laws; laws of plug-in packages come last."""
    return tuple(dict.fromkeys((*LAWS, *installed(GROUP))))


def laws_on_offer(wanted: str = "auto") -> tuple[str, ...]:
    """Return the names of the laws that compete for a joint: the named law, or with
    "auto" all with `Law.competes`.
    """
    return (
        tuple(law.name for law in LAWS.values() if law.competes)
        if wanted == "auto"
        else (law_named(wanted).name,)
    )


def quantities() -> dict[str, Quantity]:
    """Return all quantities by name: parameters of laws, coefficients of load components, and
    quantities fitted with a law.
    """
    own = {quantity.name: quantity for law in LAWS.values() for quantity in law.quantities}
    parts = [
        quantity.component(part)
        for quantity in own.values()
        if quantity.raises
        for part in COMPONENTS
    ]
    return own | {quantity.name: quantity for quantity in (*parts, *BESIDE, *MEMORY, *TEMPERATURE)}


def quantity_named(name: str) -> Quantity:
    """Return a quantity by name: a parameter of a law, a coefficient of a load component, or a
    quantity fitted with a law.

    Raises
    ------
    KeyError
        If no quantity has this name.
    """
    for law in LAWS.values():
        for quantity in law.quantities:
            if quantity.name == name:
                return quantity
    for quantity in (*BESIDE, *MEMORY, *TEMPERATURE):
        if quantity.name == name:
            return quantity
    coefficient, _, part = name.rpartition("_")
    if part not in COMPONENTS:
        raise KeyError(name)
    return quantity_named(coefficient).component(part)


def unit(name: str, prismatic: bool = False, load: str = "") -> str:
    """Return the unit of a quantity for a revolute or prismatic joint; for a
    coefficient, with this load.
    """
    quantity = quantity_named(name)
    if quantity.raises and load in COMPONENTS:
        quantity = quantity.component(load)
    return quantity.unit_of(prismatic)
