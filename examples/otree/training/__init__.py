"""Training in oTree: see a few results, say what you expect, hear what was true.

The service decides what is shown and holds the cases; oTree runs the session and keeps a copy of
what happened.
"""

import json

from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models

from .service import Service

doc = __doc__


class C(BaseConstants):
    NAME_IN_URL = "training"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 5  # no more than there are cases in the list


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    values = models.LongStringField()
    reason = models.LongStringField()
    prediction = models.FloatField(label="Which score do you expect?")
    outcome = models.FloatField()


def service_of(player):
    # oTree's code of a participant is random; names and labels stay in oTree.
    config = player.session.config
    return Service(config["service"], f"otree-{player.participant.code}")


class Decide(Page):
    form_model = "player"
    form_fields = ["prediction"]  # noqa: RUF012 - as oTree wants it

    @staticmethod
    def vars_for_template(player):
        service = service_of(player)
        if player.round_number == 1:
            service.enrol(player.session.config["cases"])
        opened = service.open_round()
        seen = service.show(opened["round"])
        player.values, player.reason = json.dumps(seen["values"]), opened["reason"]
        return {"results": list(seen["values"].items())}

    @staticmethod
    def before_next_page(player, timeout_happened):
        # oTree counts rounds from 1, the service from 0.
        told = service_of(player).predict(player.round_number - 1, player.prediction)
        player.outcome = told["outcome"]


class Truth(Page):
    pass


page_sequence = [Decide, Truth]
