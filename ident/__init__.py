"""Models and estimators of joint friction: arrays in, arrays out."""
