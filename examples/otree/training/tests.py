"""oTree's own bots: `otree test training`."""

from otree.api import Bot

from . import Decide, Truth


class PlayerBot(Bot):
    def play_round(self):
        yield Decide, {"prediction": 150.0 + self.round_number}
        assert self.player.outcome is not None
        yield Truth
