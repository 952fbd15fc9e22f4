// Simulated browsers: node browsers.mjs ADDRESS PEOPLE. Each has a true answer, and sends one report for each question.
const [address, people] = [process.argv[2], Number(process.argv[3])];
const client = await (await fetch(`${address}/tacit-local.js`)).text();
const { open } = await import(`data:text/javascript;base64,${Buffer.from(client).toString("base64")}`);

const surveys = {};
for (const name of ["engine", "crash"]) surveys[name] = await open(await (await fetch(`${address}/${name}.json`)).text());

// Person i has a fixed answer, so that simulate.py knows the truth: i mod 10 < 6 uses Google, and i mod 20 = 0 saw a crash.
function answerOf(name, person) {
  if (name === "crash") return person % 20 === 0 ? "a crash" : "no crash";
  return person % 10 < 6 ? "Google" : person % 10 < 8 ? "DuckDuckGo" : person % 10 < 9 ? "Ecosia" : "other";
}

async function send(name, person) {
  const response = await fetch(`${address}/reports/${name}`, { method: "POST", body: surveys[name].report(answerOf(name, person)) });
  if (response.status !== 204) throw new Error(`The server refused a report: ${response.status}`);
}

for (let start = 0; start < people; start += 20) {
  const group = Array.from({ length: Math.min(20, people - start) }, (_, index) => start + index);
  await Promise.all(group.flatMap((person) => Object.keys(surveys).map((name) => send(name, person))));
}
