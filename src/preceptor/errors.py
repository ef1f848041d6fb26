"""The exceptions of this package, as one tree.

PreceptorError
├── InvalidInput (ValueError)      invalid values; lists all faults at once
│   ├── InvalidProblem             world, learner, budget, risk, curve or problem
│   ├── InvalidPolicy              a policy that the problem does not allow
│   ├── InvalidData                a table of cases that no world can be estimated from
│   └── InvalidFile                a problem or plan file that cannot be read
├── UnknownMethod (ValueError)     `solve(method=...)` with a name that is not registered
├── NotApplicable                  a valid request that this method cannot serve
├── TooLarge (MemoryError)         would need more memory than allowed; says how much
├── NotSerializable (TypeError)    holds a Python function, so it cannot become a file
└── MissingExtra (ImportError)     an optional library is not installed; says which extra
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Self


class PreceptorError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidInput(PreceptorError, ValueError):
    """One or more values are invalid.

    Parameters
    ----------
    faults
        One sentence per fault, or a single sentence.

    Attributes
    ----------
    faults
        The sentences as a tuple.

    Examples
    --------
    >>> InvalidInput(["k: 0, must be at least 1", "limit: -1, must be at least 0"]).faults[0]
    'k: 0, must be at least 1'
    """

    def __init__(self, faults: Sequence[str] | str) -> None:
        self.faults: tuple[str, ...] = (faults,) if isinstance(faults, str) else tuple(faults)
        if len(self.faults) == 1:
            message = self.faults[0]
        else:
            message = f"{len(self.faults)} problems found:\n" + "\n".join(
                f"  - {f}" for f in self.faults
            )
        super().__init__(message)

    def with_notes(self, notes: Iterable[str]) -> Self:
        """Add the assumptions made before the fault was found, which may have caused it.

        Parameters
        ----------
        notes
            One sentence each.

        Returns
        -------
        Self
            This error; tracebacks and the command line show its notes.
        """
        for note in notes:
            self.add_note(note)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the faults, so that errors of worker processes arrive unchanged."""
        return type(self), (self.faults,)

    @classmethod
    def raise_if(cls, faults: Iterable[str]) -> None:
        """Raise an error with all faults, if there are any.

        Parameters
        ----------
        faults
            One sentence per fault.
        """
        found = list(faults)
        if found:
            raise cls(found)


class InvalidProblem(InvalidInput):
    """An invalid world, learner, budget, risk, curve or problem."""


class InvalidPolicy(InvalidInput):
    """A policy that the problem's budget or size does not allow."""


class InvalidData(InvalidInput):
    """A table of cases that no world can be estimated from."""


class InvalidFile(InvalidInput):
    """A problem or plan file that cannot be read."""


class UnknownMethod(PreceptorError, ValueError):
    """A solver name that is not registered."""


class NotApplicable(PreceptorError):
    """The problem is valid, but this method does not apply to it; the message says what does."""


class TooLarge(PreceptorError, MemoryError):
    """The request needs more memory than allowed.

    Parameters
    ----------
    message
        What was requested, and what to do.
    bytes_needed
        The memory it would need.
    """

    def __init__(self, message: str, *, bytes_needed: int) -> None:
        self.bytes_needed = bytes_needed
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), bytes_needed=self.bytes_needed), self.args


class NotSerializable(PreceptorError, TypeError):
    """The object holds a Python function and so cannot be written to a file."""


class MissingExtra(PreceptorError, ImportError):
    """An optional dependency is missing; the message names the extra to install.

    Parameters
    ----------
    library
        The missing library.
    extra
        The extra of this package that installs it.
    purpose
        What needs it, as the beginning of a sentence.
    """

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        self._given = library, extra, purpose
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Install it with: pip install 'preceptor[{extra}]'"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given
