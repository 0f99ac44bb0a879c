"""Runs cases: functions named as sentences, which raise if something is wrong."""

import inspect
import sys

_CASES = []


class Wrong(AssertionError):
    """The failure of a case: a field without the expected value."""


def case(function):
    """Registers a case; its name says what it proves."""
    _CASES.append((_group(), function.__name__.replace("_", " "), function))
    return function


def cases(**table):
    """Registers a case once per row of `table`, with the row's values as arguments."""

    def register(function):
        sentence = function.__name__.replace("_", " ")
        group = _group()
        for row, values in table.items():
            _CASES.append((group, f"{sentence} ({row.replace('_', ' ')})", lambda v=values: function(*v)))
        return function

    return register


def run():
    """Runs every case; prints the failures and the counts; returns True if none failed."""
    failed = 0
    for group, sentence, function in _CASES:
        try:
            outcome = function()
            if inspect.isawaitable(outcome):
                import asyncio

                asyncio.run(outcome)
        except Exception as error:
            failed += 1
            print(f"FAILED python {group}: {sentence}: {_why(error)}")
    print(f"python: {len(_CASES) - failed} passed, {failed} failed")
    return failed == 0


def equal(what, got, wanted):
    if got != wanted:
        raise Wrong(f"{what} is {_short(got)}, not {_short(wanted)}")


def holds(what, condition, got=None):
    if not condition:
        raise Wrong(f"{what} does not hold" + ("" if got is None else f"; got {_short(got)}"))


def contains(what, got, wanted):
    if got is None or wanted not in got:
        raise Wrong(f"{what} is {_short(got)}, without {wanted!r}")


def raised(kind, call):
    """The exception of exactly this `kind` that `call` raises."""
    try:
        call()
    except Exception as error:
        if type(error) is not kind:
            raise Wrong(f"raised {_why(error)}, not {kind.__name__}") from error
        return error
    raise Wrong(f"raised nothing, not {kind.__name__}")


def until_broken(stream):
    """The items of a stream, and the exception that it raises, if any."""
    items = []
    try:
        for item in stream:
            items.append(item)
    except Exception as error:
        return items, error
    return items, None


def _group():
    module = sys._getframe(2).f_globals["__name__"]
    return module.replace("_", " ")


def _why(error):
    text = str(error) if isinstance(error, Wrong) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:500]


def _short(value):
    return repr(value)[:240]
