"""A program that takes part in a study.

    preceptor study bots study.toml --people 1 --human "python examples/participant.py"

Each page is one line of JSON on stdin, and each is answered by one line of JSON on stdout. A page
has `title`, `text`, `results` (numbers by label), `told` (`said` and `truth`, once the outcome is
told) and `fields`: the names of what can be filled in, with choices, or null for a field to type
into. On the last page `fields` is null, and no answer is expected.

This one learns by the delta rule. Replace `guess` and `learn` by a language model, or by a model
of how people learn.
"""

import json
import math
import re
import sys

RATE = 0.05


class Learner:
    """Weights of results in standard deviations, and a level."""

    def __init__(self):
        self.level, self.weights, self.seen = None, {}, {}

    def scaled(self, results):
        """Results in standard deviations of those seen so far."""
        found = {}
        for name, value in results.items():
            old = self.seen.setdefault(name, [])
            old.append(value)
            mean = sum(old) / len(old)
            spread = (sum((each - mean) ** 2 for each in old) / len(old)) ** 0.5
            found[name] = (value - mean) / spread if spread else 0.0
        return found

    def guess(self, results):
        """Answer a case."""
        self.now = self.scaled(results)
        return (self.level or 0.0) + sum(self.weights.get(n, 0.0) * x for n, x in self.now.items())

    def learn(self, said, truth):
        """Hear the outcome of the last case."""
        if self.level is None:
            self.level = truth
            return
        surprise = truth - said
        self.level += RATE * surprise
        for name, x in self.now.items():
            self.weights[name] = self.weights.get(name, 0.0) + RATE * surprise * x


def words(text):
    """Words of a text, without the endings that grammar asks for."""
    return {word[:5] for word in re.findall(r"[a-z]{4,}", text.lower())}


def chosen(page, read, tried):
    """The choice of each question that is most like what was read; another one if it was missed.

    After a wrong answer the instructions come again, and name the questions that were missed.
    """
    asked = [line for line in page["text"].splitlines() if line.startswith("Question")]
    found, known = {}, words(" ".join(read))
    for (name, choices), line in zip(page["fields"].items(), asked, strict=True):
        if any(line.endswith(each) for each in read):
            tried[name] = tried.get(name, 0) + 1
        order = sorted(choices, key=lambda value: -len(words(choices[value]) & known))
        found[name] = order[tried.get(name, 0) % len(order)]
    read.clear()
    return found


def answer(page, learner, read, tried):
    """Fill in the fields of a page."""
    fields, numbers = page["fields"], re.findall(r"\d+(?:\.\d+)?", page["text"])
    if "agree" in fields:
        return {"agree": True, "choice": "yes"}
    if page["results"] and "answer" in fields:
        limits = re.search(r"from (-?[\d.]+) to (-?[\d.]+)", page["text"].replace("−", "-"))
        low, high = map(float, limits.groups()) if limits else (-math.inf, math.inf)
        if learner.level is None and limits:
            learner.level = (low + high) / 2.0
        guess = min(max(learner.guess(page["results"]), low), high)
        # Other fields of a case, such as confidence, have choices.
        return {name: guess if name == "answer" else next(iter(fields[name])) for name in fields}
    if page["title"] == "A short question":  # a check of attention says what to type
        return {"answer": float(numbers[0])}
    return chosen(page, read, tried) if fields and all(fields.values()) else {}


def main():
    """Take part, as one person."""
    learner, read, tried = Learner(), [], {}
    for line in sys.stdin:
        page = json.loads(line)
        if page["fields"] is None:
            break
        if "truth" in page["told"]:
            learner.learn(float(page["told"]["said"]), float(page["told"]["truth"]))
        print(json.dumps(answer(page, learner, read, tried)), flush=True)
        if not page["fields"]:
            read += page["text"].splitlines()


if __name__ == "__main__":
    main()
