"""Everything that can go wrong, as one tree.

PreceptorError
├── InvalidInput (ValueError)      a value that makes no sense; lists every fault at once
│   ├── InvalidProblem             world, learner, budget, risk, curve or problem
│   ├── InvalidPolicy              a policy that the problem does not allow
│   ├── InvalidData                a table of cases that no world can be estimated from
│   └── InvalidFile                a problem or plan file that cannot be read
├── UnknownMethod (ValueError)     `solve(method=...)` with a name nobody registered
├── NotApplicable                  a sound request that this method cannot serve
├── TooLarge (MemoryError)         would need more memory than allowed; says how much
├── NotSerializable (TypeError)    holds a Python function, so it cannot become a file
└── MissingExtra (ImportError)     an optional library is not installed; says which extra
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self


class PreceptorError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidInput(PreceptorError, ValueError):
    """One or more values are wrong.

    Parameters
    ----------
    faults
        One sentence for each of them, or a single sentence.

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

    def beside(self, notes: Iterable[str]) -> Self:
        """Say also what was assumed before the fault was met, which may be what is wrong.

        Parameters
        ----------
        notes
            A sentence each.

        Returns
        -------
        Self
            The same error, to be raised; tracebacks and the command line show its notes.
        """
        for note in notes:
            self.add_note(note)
        return self

    @classmethod
    def raise_if(cls, faults: Iterable[str]) -> None:
        """Raise with all of them if there are any.

        Parameters
        ----------
        faults
            One sentence for each fault.
        """
        found = list(faults)
        if found:
            raise cls(found)


class InvalidProblem(InvalidInput):
    """A world, learner, budget, risk, curve or problem that makes no sense."""


class InvalidPolicy(InvalidInput):
    """A policy that the problem's budget or size does not allow."""


class InvalidData(InvalidInput):
    """A table of cases that no world can be estimated from."""


class InvalidFile(InvalidInput):
    """A problem or plan file that cannot be read."""


class UnknownMethod(PreceptorError, ValueError):
    """A solver name that is not registered."""


class NotApplicable(PreceptorError):
    """The problem is sound, but this method does not apply to it; the message says what does."""


class TooLarge(PreceptorError, MemoryError):
    """The request needs more memory than allowed.

    Parameters
    ----------
    message
        What was asked for, and what to do.
    bytes_needed
        How much memory it would take.
    """

    def __init__(self, message: str, *, bytes_needed: int) -> None:
        self.bytes_needed = bytes_needed
        super().__init__(message)


class NotSerializable(PreceptorError, TypeError):
    """The object holds a Python function and so cannot be written to a file."""


class MissingExtra(PreceptorError, ImportError):
    """An optional dependency is missing; the message names the extra to install.

    Parameters
    ----------
    library
        What is not installed.
    extra
        The extra of this package that brings it.
    purpose
        What needs it, as the beginning of a sentence.
    """

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {library}, which is not installed. "
            f"Install it with: pip install 'preceptor[{extra}]'"
        )
