"""People in studies: programs neither move nor look at them, since only the study's pages may."""

from __future__ import annotations

from preceptor.store.people import Person
from preceptor.store.refusals import Conflict


def must_be_free(person: Person) -> Person:
    """Somebody who is in no study; `Conflict` if they are in one.

    An answer given behind the pages' back would be counted as theirs, and what they are shown says
    which arm they are in.
    """
    study = person.enrolled_with.get("study")
    if study is not None:
        raise Conflict(
            f"person: {person.id!r} takes part in study {study!r}: only its pages move them, and "
            f"its owner looks after them at /studies/{study}"
        )
    return person
