"""Types of variables with a range: ReFrame refuses any other value when it loads the check."""

import math


class _LimitedType(type):
    """A metaclass of variable types: `isinstance` asks `holds`, a call converts text by `kind`."""

    def __instancecheck__(cls, value):
        return cls.holds(value)

    def __call__(cls, text):
        try:
            value = cls.kind(text)
        except ValueError:
            value = None
        if not isinstance(value, cls):
            raise TypeError(f"right is {cls.words}")
        return value


def amount(kind, minimum, maximum):
    """The type of a number of `kind`, int or float, from `minimum` to `maximum`."""

    def holds(value):
        kinds = (int, float) if kind is float else (int,)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        return is_number and math.isfinite(value) and minimum <= value <= maximum

    name = "a number" if kind is float else "a whole number"
    words = f"{name} from {minimum:.12g} to {maximum:.12g}"
    return _LimitedType("amount", (), {"kind": kind, "words": words, "holds": staticmethod(holds)})


def choice(*legal, several=False):
    """The type of a text that is one of `legal`; or several of them, with commas."""

    def holds(value):
        if not isinstance(value, str):
            return False
        parts = value.split(",") if several else [value]
        return set(parts) <= set(legal) and len(set(parts)) == len(parts)

    words = f"{'some' if several else 'one'} of: {', '.join(legal)}"
    return _LimitedType("choice", (), {"kind": str, "words": words, "holds": staticmethod(holds)})


#: Seconds that a launch may measure; a week at most.
BUDGET = amount(float, 0.001, 604800)
#: Relative half-width of an interval, percent.
PRECISION = amount(float, 0.001, 100)
#: Bytes of the largest message; its count is a C `int`.
LARGEST_BYTES = amount(int, 1, 2**31 - 1)
#: Seconds after which a job is ended.
TIME_LIMIT_S = amount(int, 1, 604800)
