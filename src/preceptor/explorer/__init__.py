"""What the explorer draws: a plan for wherever its sliders are, its proof, and who would lose."""

from preceptor.explorer.choice import Choice, Slider, read_choice, sliders_of
from preceptor.explorer.ground import Ground
from preceptor.explorer.presets import PRESETS, preset

__all__ = ["PRESETS", "Choice", "Ground", "Slider", "preset", "read_choice", "sliders_of"]
