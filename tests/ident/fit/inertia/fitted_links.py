"""A calibration along with the fit of its links, which it keeps only in part."""

from collections.abc import Sequence
from typing import Any

import pytest

from stribeck.ident.fit.inertia.equations import Equations
from stribeck.ident.fit.inertia.fit_inertia import fit_inertia
from stribeck.ident.fit.inertia.inertial_fit import InertialFit
from stribeck.ident.fit.joint.options import Options
from stribeck.ident.identification import identify_inertia
from stribeck.ident.identify import Identification, identify
from stribeck.ident.log.run import Run


def calibrated_with_links(
    runs: Sequence[Run], options: Options
) -> tuple[Identification, InertialFit]:
    """Return the calibration, and the fit of the links on its way."""
    fits = []

    def kept(*arguments: Any) -> tuple[InertialFit, Equations]:
        fits.append(fit_inertia(*arguments))
        return fits[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(identify_inertia, "fit_inertia", kept)
        found = identify(runs, options)
    ((fit, _),) = fits
    return found, fit
