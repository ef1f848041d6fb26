// What a page needs of the service: the next round, its results, an answer and the truth.
//
// The service holds the cases. Results come when they are shown, the truth after the answer, so
// nothing that a participant must not know yet ever reaches the browser. Every call may be made
// again: reloading the page resumes the same round.

export class Service {
  constructor(person = "/v1/people/me") {
    this.person = person;
  }

  /** The next round with the results that are shown, or null when all cases have been. */
  async next() {
    const opened = await this.call("POST", "/rounds");
    return opened && (await this.call("PUT", `/rounds/${opened.round}/shown`, {}));
  }

  /** Send an answer; the round comes back with the truth in `outcome`. */
  async answer(round, prediction) {
    return this.call("PUT", `/rounds/${round}/prediction`, { prediction });
  }

  async call(method, path, body) {
    const response = await fetch(this.person + path, {
      method,
      headers: body && { "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    const said = await response.json();
    if (response.ok) return said;
    // Another tab was faster: its round. Without one, the list of cases is at its end.
    if (response.status === 409) return said.round ?? null;
    throw new Error(said.errors.join("; "));
  }
}
