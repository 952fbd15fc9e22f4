// Draw charts with Vega-Lite. Vega evaluates expressions with its interpreter, so the pages need no `unsafe-eval`.
import { expressionInterpreter } from "./vendor/vega-interpreter.js";

const { vega, vegaLite } = globalThis;
const dark = matchMedia("(prefers-color-scheme: dark)");

const AXIS_WIDTH = 130;

// The page already shows the question, the notes and the limits. The chart takes the width that there is.
function fitted(chart, room) {
  delete chart.title;
  chart.background = "transparent";
  const width = chart.width ?? (chart.hconcat || chart.vconcat || chart.facet ? undefined : 400);
  if (typeof width === "number") chart.width = Math.max(160, Math.min(width, room - AXIS_WIDTH));
  (chart.vconcat ?? []).forEach((part) => {
    if (typeof part.width === "number") part.width = Math.max(160, Math.min(part.width, room - AXIS_WIDTH));
  });
  return chart;
}

async function draw(figure) {
  const theme = dark.matches ? "dark" : "light";
  const response = await fetch(`${figure.dataset.chart}?theme=${theme}`);
  if (!response.ok) return;
  const compiled = vegaLite.compile(fitted(await response.json(), figure.clientWidth), { logger: vega.logger(vega.Error) });
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
