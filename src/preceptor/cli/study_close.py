"""`preceptor study close`: let nobody in any more."""

from __future__ import annotations

from typing import Annotated

import typer

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli._study_store import Reason, Which, existing_store, named, with_reason
from preceptor.cli.study import study_app


@study_app.command("close")
def close(
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
    arm: Annotated[str | None, typer.Option(help="Only this arm.")] = None,
    reason: Reason = "",
) -> None:
    """Let nobody in any more, to a study or to one of its arms; whoever is at it may finish.

    Needs a reason, unless everybody who was to finish has. It cannot be undone.
    """
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import participants, studies

        kept = named(store, study)
        people = store.read(lambda c: participants.everyone(c, kept.id, "real"))
        finished = sum(who.status == "completed" for who in people)
        is_full = arm is None and finished >= kept.people
        why = "all have finished" if is_full and not reason else with_reason(reason)
        if arm is None:
            if not kept.is_open:
                say(f"Study {kept.id} was closed on {str(kept.closed)[:10]}; nothing has changed.")
                return
            store.write(lambda connection: studies.close(connection, kept.id, why))
        else:
            store.write(lambda connection: studies.close_arm(connection, kept.id, arm, why))
    what = f"Study {kept.id}" if arm is None else f"Arm {arm} of {kept.id}"
    say(f"{what} is closed; {finished} of {kept.people} people have finished.")
