// Draw charts with Vega-Lite. Vega evaluates expressions with its interpreter, so the pages need no `unsafe-eval`.
import { expressionInterpreter } from "./vendor/vega-interpreter.js";

const { vega, vegaLite } = globalThis;
const dark = matchMedia("(prefers-color-scheme: dark)");

async function draw(figure) {
  const theme = dark.matches ? "dark" : "light";
  const response = await fetch(`${figure.dataset.chart}?theme=${theme}`);
  if (!response.ok) return;
  const compiled = vegaLite.compile(await response.json(), { logger: vega.logger(vega.Error) });
  const place = document.createElement("div");
  const view = new vega.View(vega.parse(compiled.spec, null, { ast: true }), {
    expr: expressionInterpreter,
    loader: { load: () => Promise.reject(new Error("charts load nothing")), sanitize: () => Promise.reject(new Error("charts link nowhere")) },
    renderer: "svg",
    container: place,
    hover: true,
    logLevel: vega.Error,
  });
  await view.runAsync();
  const svg = place.querySelector("svg");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", figure.dataset.label);
  figure.replaceChildren(place);
  figure.dataset.drawn = theme;
}

function drawAll() {
  document.querySelectorAll("figure[data-chart]").forEach((figure) => { draw(figure).catch(() => {}); });
}

dark.addEventListener("change", drawAll);
drawAll();
