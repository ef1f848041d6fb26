"""Write docs/study_file.md, the reference of the study file, from its schema."""

from __future__ import annotations

from pathlib import Path

from preceptor.live.study.reference import reference

if __name__ == "__main__":
    Path(__file__).with_name("study_file.md").write_text(reference(), "utf-8")
