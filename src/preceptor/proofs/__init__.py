"""Independent verification of plans; nothing here imports a solver."""

from preceptor.proofs.verify import Verification, verify

__all__ = ["Verification", "verify"]
