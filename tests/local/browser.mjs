// What the tests ask of the client for browsers: a JSON request on standard input, a JSON answer on standard output.
import { readFileSync } from "node:fs";
import { envelope, jsonLine, open, record } from "../../src/tacit/local/browser/tacit-local.js";

/** Make each vector's report from its bits, in hexadecimal; say how many bits were left over. */
async function vectors({ cases }) {
  const answers = [];
  for (const { parameters, reports } of cases) {
    const survey = await open(parameters);
    for (const { value, bits } of reports) answers.push(scripted(survey, value, Buffer.from(bits, "hex")));
  }
  return answers;
}

function scripted(survey, value, bits) {
  let at = 0;
  const take = (count) => new Uint8Array(bits.subarray(at, (at += count)));
  const place = Array.isArray(survey.domain) ? survey.domain.indexOf(value) : value;
  const bytes = record(survey.law, place, take);
  const message = Buffer.from(envelope(survey, bytes)).toString("hex");
  return { message, line: jsonLine(survey, bytes), left: bits.length - at };
}

/** Draw reports of values, so many of each, from the system's randomness. */
async function draw({ parameters, counts, form }) {
  const survey = await open(parameters);
  const values = Array.isArray(survey.domain) ? survey.domain : counts.map((_, place) => place);
  const reports = counts.flatMap((count, i) => Array.from({ length: count }, () => survey[form](values[i])));
  return form === "line" ? reports.join("") : reports.map((message) => Buffer.from(message).toString("base64"));
}

/** Say of each pair of parameters and value whether a report could be drawn, or why not. */
async function attempt({ pairs }) {
  const tell = async ([parameters, value]) => (await open(parameters)).report(value).length;
  return Promise.all(pairs.map((pair) => tell(pair).catch((error) => `${error.name}: ${error.message}`)));
}

const request = JSON.parse(readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(await { vectors, draw, attempt }[request.task](request)));
