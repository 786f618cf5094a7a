"""Play and wind-up in C: the flank of each joint, which the caller
keeps, and one update function.
"""

from collections.abc import Sequence

from stribeck.ident.calibration.joint_calibration import JointCalibration

_CODE = """
/* Loaded flank of each joint: -1, 1, or 0 before a flank is known. The caller keeps it; {0} at first. */
typedef struct { double flank[@N]; } @_backlash;

/* Motor minus link, lag[j], for the torque that each link takes (without the friction of its motor): half the play on the loaded
   flank, and wind-up. While the torque is within +-sure, the last flank holds. The position of a link is q[j] - lag[j]; to
   move a link to a position, move its motor to this position plus lag[j]. Joints without identified play have lag 0. */
static inline void @_lag(const double torque[@N], double sure, @_backlash *backlash, double lag[@N])
{
    static const double play[@N] = @PLAY, compliance[@N] = @COMPLIANCE;
    int j;
    for (j = 0; j < @N; ++j) {
        if (fabs(torque[j]) > sure) backlash->flank[j] = @_sign(torque[j]);
        lag[j] = 0.5 * play[j] * backlash->flank[j] + compliance[j] * torque[j];
    }
}
"""


def backlash_in_c(joints: Sequence[JointCalibration | None]) -> str:
    """Return the C code of plays of joints in the order of the arrays; "" if no joint has play."""
    gaps = [None if joint is None else joint.backlash for joint in joints]
    if not any(gaps):
        return ""
    play = [0.0 if gap is None else gap.play.value or 0.0 for gap in gaps]
    compliance = [
        1.0 / gap.stiffness.value if gap is not None and gap.stiffness.value else 0.0
        for gap in gaps
    ]

    def row(values: Sequence[float]) -> str:
        return f"{{{', '.join(repr(float(value)) for value in values)}}}"

    return _CODE.replace("@PLAY", row(play)).replace("@COMPLIANCE", row(compliance))
