"""The paper's theorems as functions: thresholds, certificates, worst cases and reductions."""
