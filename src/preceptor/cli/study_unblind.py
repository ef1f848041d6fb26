"""`preceptor study unblind`: results by arm from now on, and why."""

from __future__ import annotations

from preceptor.cli._console import readable_errors, say
from preceptor.cli._serving import DEFAULT_DATABASE, Database
from preceptor.cli._study_store import Reason, Which, existing_store, named, with_reason
from preceptor.cli.study import study_app


@study_app.command("unblind")
def unblind(
    reason: Reason,
    study: Which = None,
    database: Database = DEFAULT_DATABASE,
) -> None:
    """Show results by arm from now on, and allow exports; that and why is kept in the log."""
    with readable_errors(), existing_store(database) as store:
        from preceptor.store import studies

        kept, why = named(store, study), with_reason(reason)
        store.write(lambda c: studies.unblind(c, kept.id, "command line", why))
    again = "" if kept.unblinded is None else f" (it was on {kept.unblinded[:10]} already)"
    say(f"Study {kept.id} is unblinded{again}; the reason is in the log.")
