// Training in jsPsych: see a few results, say what you expect, hear what was true.

import { Service } from "./service.js";

const OUTCOME = { name: "score", min: 0, max: 350, step: 1 };

const service = new Service();
let round = null; // as the service answered last
let played = 0;

const jsPsych = initJsPsych({
  on_finish: () => {
    document.body.dataset.finished = played;
    document.body.textContent = `Thank you. You have answered ${played} cases.`;
  },
});

const wait = (work) => ({ type: jsPsychCallFunction, async: true, func: (done) => work().then(done) });

const ask = wait(async () => {
  round = await service.next();
});

const decide = {
  type: jsPsychHtmlSliderResponse,
  stimulus: () => `<table>${Object.entries(round.values).map(row).join("")}</table>`,
  prompt: `<p>Which ${OUTCOME.name} do you expect? <output id="now"></output></p>`,
  min: OUTCOME.min,
  max: OUTCOME.max,
  step: OUTCOME.step,
  slider_start: (OUTCOME.min + OUTCOME.max) / 2,
  require_movement: true,
  on_load: () => {
    // jsPsych's slider does not say where it stands.
    const slider = document.querySelector("input[type=range]");
    slider.addEventListener("input", () => (document.querySelector("#now").value = slider.value));
  },
  data: () => ({ round: round.round, shown: round.shown }),
};

const send = wait(async () => {
  const prediction = Number(jsPsych.data.get().last(1).values()[0].response);
  round = await service.answer(round.round, prediction);
  played += 1;
});

const hear = {
  type: jsPsychHtmlButtonResponse, // a phone has no keyboard
  stimulus: () => `<p>You said ${round.prediction}. It was <b>${round.outcome}</b>.</p>`,
  choices: ["Continue"],
};

const training = {
  timeline: [
    ask,
    { timeline: [decide, send, hear], conditional_function: () => round !== null },
  ],
  loop_function: () => round !== null,
};

// "?simulate" lets jsPsych answer for itself: a rehearsal, and our test.
const rehearsal = new URLSearchParams(location.search).has("simulate");
await (rehearsal ? jsPsych.simulate([training], "visual") : jsPsych.run([training]));

function row([name, value]) {
  const cells = [name, value].map((text) => {
    const cell = document.createElement("td");
    cell.textContent = text;
    return cell.outerHTML;
  });
  return `<tr>${cells.join("")}</tr>`;
}
