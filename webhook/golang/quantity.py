"""A quantity of a resource ("500m", "1.5Gi"), as Kubernetes' ``apimachinery/pkg/api/resource`` reads and prints it.

A quantity is a decimal number and its preferred notation. Kubernetes keeps small quantities in
64 bits. It keeps others as big decimals, rounded up to a billionth. The difference is visible:
only a quantity in 64 bits can be an integer. Here both are a ``Decimal`` with the same
coefficient and exponent, and a flag.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Context, Decimal
from functools import lru_cache
from typing import Final

from webhook.golang.errors import GoError
from webhook.golang.strconv import INT64, parse_int

_BINARY, _DECIMAL, _EXPONENT = "BinarySI", "DecimalSI", "DecimalExponent"
_DECIMALS: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARIES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX: Final = {exponent: suffix for suffix, exponent in _DECIMALS.items()}
_BINARY_SUFFIX: Final = {exponent: suffix for suffix, exponent in _BINARIES.items()}
# Possessive quantifiers: with ordinary ones, two adjacent runs of digits take quadratic time.
_TEXT: Final = re.compile(r"([+-]?)(0*+)(\d*+)(?:(\.)(\d*+))?+([eEinumkKMGTP]*+[-+]?+\d*+)", re.ASCII)
_EXPONENT_SUFFIX: Final = re.compile(r"[eE]([+-]?\d+)", re.ASCII)
_INT_MAX: Final = INT64.stop - 1
_FAST_DIGITS: Final = 18  # digits that always fit in 64 bits
_NANO: Final = -9
_USUAL: Final = 32  # characters of a quantity that is worth remembering
_MAX_DIGITS: Final = 100_000  # Go would compute for hours; a longer number is an error here
_WRONG_FORMAT: Final = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_WRONG_NUMBER: Final = "unable to parse numeric part of quantity"
_WRONG_SUFFIX: Final = "unable to parse quantity's suffix"


def _context(digits: int) -> Context:
    return Context(prec=max(digits, 1), rounding=ROUND_UP, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity; ``big`` says that Kubernetes holds it as a big decimal.

    ``text`` is the original spelling if the quantity prints in that spelling.
    """

    amount: Decimal
    big: bool
    notation: str
    text: str = field(default="", compare=False)

    def compare(self, other: Quantity) -> int:
        return (self.amount > other.amount) - (self.amount < other.amount)

    def sign(self) -> int:
        return (self.amount > 0) - (self.amount < 0)

    def as_int(self) -> int | None:
        """The value as an integer; None for a fraction, for more than 64 bits, and for a big decimal."""
        exponent = _exponent(self.amount)
        if self.big or exponent < 0 or (self.amount and exponent > _FAST_DIGITS + 1):
            return None
        value = int(self.amount) if self.amount else 0
        return value if value in INT64 else None

    def as_float(self) -> float:
        exponent = _exponent(self.amount)
        coefficient = float(self.amount.scaleb(-exponent, _context(_MAX_DIGITS)))
        return coefficient * _pow10(exponent) if exponent else coefficient

    def rounded_up(self, exponent: int) -> Quantity:
        """The quantity without digits below ``10**exponent``; itself if it has none."""
        if _exponent(self.amount) >= exponent:
            return self
        context = _context(_MAX_DIGITS)
        amount = self.amount.quantize(Decimal(1).scaleb(exponent), ROUND_UP, context)
        return self if amount == self.amount else Quantity(amount, self.big, self.notation)

    def plus(self, other: Quantity, *, minus: bool = False) -> Quantity:
        """The sum, or the difference.

        Raises:
            GoError: the result would have too many digits.
        """
        notation = self.notation if self.amount else other.notation
        addend = other.amount.copy_negate() if minus else other.amount
        if not self.big and not other.big:
            # In 64 bits the smallest integer is its own negative.
            amount = _small_sum(self.amount, addend if addend != -INT64.start else addend.copy_negate())
            if amount is not None:
                return Quantity(amount, False, notation)
        return Quantity(_big_sum(self.amount, addend), True, notation)

    def __str__(self) -> str:
        return self.text or _canonical(self)


def _exponent(amount: Decimal) -> int:
    return int(amount.as_tuple().exponent)


def _pow10(exponent: int) -> float:
    """Go's ``math.Pow10``, which multiplies two table entries."""
    if exponent > 308:
        return float("inf")
    if exponent < -323:
        return 0.0
    tens, rest = divmod(abs(exponent), 32)
    if exponent < 0:
        return float(f"1e-{tens * 32}") / float(f"1e{rest}")
    return float(f"1e{tens * 32}") * float(f"1e{rest}")


def _small_sum(a: Decimal, b: Decimal) -> Decimal | None:
    """The sum, if both operands and the sum fit in 64 bits at the smaller exponent."""
    if not b:
        return a
    if not a:
        return b
    low = min(_exponent(a), _exponent(b))
    if abs(_exponent(a) - _exponent(b)) > _FAST_DIGITS + 1:
        return None
    unscaled = [int(each.scaleb(-low)) for each in (a, b)]
    total = sum(unscaled)
    if not all(each in INT64 for each in (*unscaled, total)):
        return None
    return Decimal(total).scaleb(low)


def _big_sum(a: Decimal, b: Decimal) -> Decimal:
    low = min(_exponent(a), _exponent(b))
    digits = max(a.adjusted() if a else low, b.adjusted() if b else low) - low + 2
    if digits > _MAX_DIGITS:
        raise GoError("quantity out of range")
    return _context(digits).add(a, b)


def parse(text: str) -> Quantity:
    """Read a quantity.

    Raises:
        GoError: one of Kubernetes' three texts, for an invalid form, number or suffix.
    """
    return _remembered(text) if len(text) <= _USUAL else _parse(text)


@lru_cache(1024)
def _remembered(text: str) -> Quantity:
    """Rules compare the same few quantities again and again."""
    return _parse(text)


def _parse(text: str) -> Quantity:
    match = _TEXT.fullmatch(text) if text else None
    if match is None:
        raise GoError(_WRONG_FORMAT)
    sign, zeros, number, point, fraction, suffix = match.groups(default="")
    if text == "0" or not (number or point or suffix):
        return Quantity(Decimal(0), False, _DECIMAL, "0" if text == "0" else "")
    exponent, notation = _suffix(suffix)
    number = number or "0"
    fast = _fast(sign, number, fraction, exponent, notation, text)
    return fast or _slow(f"{sign}{zeros}{match[3]}{point}{fraction}", exponent, notation)


def _suffix(suffix: str) -> tuple[int, str]:
    if suffix in _DECIMALS:
        return _DECIMALS[suffix], _DECIMAL
    if suffix in _BINARIES:
        return _BINARIES[suffix], _BINARY
    match = _EXPONENT_SUFFIX.fullmatch(suffix)
    try:
        exponent = parse_int(match[1] if match else "")
    except GoError:
        raise GoError(_WRONG_SUFFIX) from None
    return (exponent + 2**31) % 2**32 - 2**31, _EXPONENT  # Kubernetes truncates it to 32 bits


def _fast(sign: str, number: str, fraction: str, exponent: int, notation: str, text: str) -> Quantity | None:
    """The quantity in 64 bits; None if Kubernetes parses it as a big decimal at once."""
    digits = number + fraction
    if notation == _BINARY:
        if fraction or 15 - len(number) - exponent * 3 // 10 - 1 < 0:
            return None
        scale, factor = 0, 2**exponent
    else:
        scale, factor = exponent - len(fraction), 1
        if len(digits) > _FAST_DIGITS or scale < _NANO:
            return None
    value = int(digits)
    if value * factor not in INT64:
        return None
    if notation == _BINARY:
        as_written = value % 8 != 0
    else:
        as_written = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    amount = Decimal(-value * factor if sign == "-" else value * factor).scaleb(scale, _context(_FAST_DIGITS + 2))
    return Quantity(amount, False, notation, text if as_written else "")


def _slow(number: str, exponent: int, notation: str) -> Quantity:
    if not any(map(str.isdigit, number)):
        raise GoError(_WRONG_NUMBER)
    amount = Decimal(number)
    context = _context(_MAX_DIGITS + len(number))
    if notation == _BINARY:
        amount = context.multiply(amount, Decimal(2**exponent))
    else:
        amount = context.scaleb(amount, exponent)
    if amount:
        if amount.adjusted() > max(_MAX_DIGITS, 2 * len(number)):  # Go would run out of memory
            raise GoError(_WRONG_NUMBER)
        amount = amount.quantize(Decimal(1).scaleb(_NANO), ROUND_UP, context)
    if notation == _BINARY and abs(amount) > _INT_MAX:
        amount = Decimal(_INT_MAX).copy_sign(amount)
    if notation == _BINARY and 0 < abs(amount) < 1:
        notation = _DECIMAL
    return Quantity(amount, True, notation)


def _canonical(quantity: Quantity) -> str:
    amount, notation = quantity.amount, quantity.notation
    if not amount:
        return "0"
    if notation == _BINARY:
        whole = abs(amount) >= 1024 and amount.adjusted() < _MAX_DIGITS and amount == amount.to_integral_value()
        if whole:
            return _binary(int(amount))
        notation = _DECIMAL
    sign, digits, exponent = amount.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    power = int(exponent) + len(text) - len(text.rstrip("0"))
    text = text.rstrip("0") + "0" * (power % 3)
    power -= power % 3
    suffix = _DECIMAL_SUFFIX.get(power, "") if notation == _DECIMAL else f"e{power}" if power else ""
    return f"{'-' if sign else ''}{text}{suffix}"


def _binary(value: int) -> str:
    power = 0
    while value % 1024 == 0:
        value //= 1024
        power += 10
    return f"{value}{_BINARY_SUFFIX.get(power, '')}"
