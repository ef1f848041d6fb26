"""Plans proven again, slowly: code that shares nothing with what found them."""

from preceptor.verification.verify import Verification, verify

__all__ = ["Verification", "verify"]
