"""A short block of rounds that tells who somebody is: chosen, tried on simulated people, read."""

from preceptor.diagnosis.blocks import Block, BlockRound
from preceptor.diagnosis.diagnosing import Diagnosis, diagnose, read
from preceptor.diagnosis.kind_posterior import Reading
from preceptor.diagnosis.log_reading import read_log

__all__ = ["Block", "BlockRound", "Diagnosis", "Reading", "diagnose", "read", "read_log"]
