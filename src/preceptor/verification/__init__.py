"""Plans checked again by code that shares only the definitions of a problem with the solvers."""

from preceptor.verification.verify import Verification, verify

__all__ = ["Verification", "verify"]
