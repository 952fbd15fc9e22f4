// Time 1,000 reports of one survey in node: parameters on standard input as JSON, milliseconds on standard output.
import { readFileSync } from "node:fs";
import { open } from "../src/tacit/local/browser/tacit-local.js";

const { parameters, rounds } = JSON.parse(readFileSync(0, "utf8"));
const answers = [];
for (const text of parameters) {
  const survey = await open(text);
  const size = Array.isArray(survey.domain) ? survey.domain.length : survey.domain.size;
  const values = Array.isArray(survey.domain) ? survey.domain : null;
  const times = [];
  for (let round = 0; round < rounds; round++) {
    const start = performance.now();
    for (let i = 0; i < 1000; i++) survey.report(values === null ? i % size : values[i % size]);
    times.push(performance.now() - start);
  }
  answers.push(times);
}
process.stdout.write(JSON.stringify(answers));
