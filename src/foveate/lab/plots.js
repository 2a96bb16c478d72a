"use strict";

const $ = id => document.getElementById(id);
const report = JSON.parse($("report").textContent);
const { policies, sessions, totals } = report;
const chosen = { session: 0, policy: 0, sort: "calls", descending: true };

// Colours. Those of policies are Okabe and Ito's, which most kinds of colour blindness keep apart; "raw", the
// yardstick, is grey. Fates have others, so that none is taken for a policy.

const THEMES = {
  light: {
    ink: "#1d2329", soft: "#5a646e", rule: "#dcdfe2", ground: "#fcfcfa", raised: "#ffffff", raw: "#868e96",
    policies: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7b4fa3"],
    fates: {
      overhead: "#b8bec4", verbatim: "#88ccee", repaired: "#44aa99", recalled: "#117733", trimmed: "#999933",
      masked: "#ddcc77", superseded: "#cc6677", folded: "#5b4bb5", summarised: "#aa4499", dropped: "#882255",
      "left out": "#d9c3cd",
    },
  },
  dark: {
    ink: "#e7eaed", soft: "#a0a9b2", rule: "#343a41", ground: "#15181c", raised: "#1c2025", raw: "#9aa3ab",
    policies: ["#4fa8e0", "#ff8a4c", "#2cc49a", "#e69bc4", "#f2b93b", "#9bd6f7", "#b79ae0"],
    fates: {
      overhead: "#6d757d", verbatim: "#4f9fc4", repaired: "#44aa99", recalled: "#3fae68", trimmed: "#a8a83c",
      masked: "#d2bf62", superseded: "#d9778a", folded: "#8576e0", summarised: "#c765b6", dropped: "#c2508a",
      "left out": "#4a3640",
    },
  },
};
const DASHES = ["solid", "dash", "dot", "dashdot"];
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;
const theme = () => THEMES[prefersDark.matches && !printing ? "dark" : "light"];
const raw = policies.findIndex(policy => policy.name === "raw");
const rank = i => raw >= 0 && i > raw ? i - 1 : i;
const colour = i => i === raw ? theme().raw : theme().policies[rank(i) % theme().policies.length];
const dash = i => i === raw ? "solid" : DASHES[Math.floor(rank(i) / theme().policies.length) % DASHES.length];

function mixed(over, under) {
  // Not by opacity, which would let the grid shine through.
  const part = (text, i) => parseInt(text.slice(i, i + 2), 16);
  const mix = i => Math.round(.35 * part(over, i) + .65 * part(under, i)).toString(16).padStart(2, "0");
  return "#" + [1, 3, 5].map(mix).join("");
}

// Words and numbers.

const dollars = report.unit === "USD";
const whole = value => value == null ? "–" : Math.round(value).toLocaleString("en-US");
const percent = value => value == null ? "–" : (100 * value).toFixed(1) + " %";
const times = value => value == null ? "–" : value.toFixed(2) + "×";
const tenths = value => value == null ? "–" : value.toFixed(1);
const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
const share = (part, all) => part == null || !all ? null : part / all;
const joined = parts => parts.filter(Boolean).join(" · ");

function money(values) {
  const most = values.reduce((most, value) => Math.max(most, value || 0), 0);
  const digits = !dollars ? 0 : most >= 10 ? 2 : most >= 1 ? 3 : 4;
  const form = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value => value == null ? "–" : (dollars ? "$" : "") + value.toLocaleString("en-US", form);
}
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
function swatch(i) {
  const mark = make("span", { className: "swatch" });
  mark.style.setProperty("--swatch", `var(--policy-${i})`);
  return mark;
}
function fill(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([term, text]) => [make("dt", {}, ...[term].flat()), make("dd", {}, text)]));
}
function disclose(details, heading, pairs) {
  details.hidden = !pairs.length;
  details.querySelector("summary").textContent = heading;
  fill(details.querySelector("dl"), pairs);
}

// Plots.

const COST = dollars ? "cost of input so far, $" : "cost of input so far, in uncached input tokens";
const CALLS = "call of the session";
const AS_TOKENS = { hovertemplate: "%{y:,}" };
const AS_COST = { hovertemplate: dollars ? "%{y:$,.4f}" : "%{y:,.0f}" };
const CAUSES = {
  rewritten: "rewritten", expired: "the cache had expired", model: "another model",
  missed: "the cache mark was out of reach",
};
const draw = (id, traces, shape) => Plotly.react($(id), traces, shape, { displayModeBar: false, responsive: true });
const counted = at => at.map(call => call + 1);
// Labels of plots know some markup; names are to be shown as they are.
const literal = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function layout(x, y, more = {}) {
  const { ink, soft, rule, raised } = theme();
  const axis = { gridcolor: rule, linecolor: rule, tickcolor: rule, zeroline: false, automargin: true };
  const title = text => ({ text, standoff: 10 });
  return {
    // A finger that scrolls over a plot of a small screen is not to zoom it.
    dragmode: innerWidth < 600 ? false : "zoom",
    font: { family: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", size: 12, color: soft },
    height: 360, width: printing ? 960 : undefined, margin: { l: 8, r: 12, t: 8, b: 8 },
    hoverlabel: { bgcolor: raised, bordercolor: rule, font: { color: ink }, namelength: -1, align: "left" },
    hovermode: "x unified",
    legend: { orientation: "h", x: 0, y: 1.03, yanchor: "bottom", font: { color: ink }, traceorder: "normal" },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", separators: ".,", showlegend: true,
    xaxis: { ...axis, title: title(x), showgrid: false, tickformat: ",d", unifiedhovertitle: { text: "call %{x:,d}" } },
    yaxis: { ...axis, title: title(y), rangemode: "tozero", tickformat: "~s" },
    ...more,
  };
}
function costLayout(x, at) {
  const shape = callLayout(x, COST, at);
  if (dollars) Object.assign(shape.yaxis, { tickprefix: "$", tickformat: ",.6~f" });
  return shape;
}
function callLayout(x, y, at, more) {
  const shape = layout(x, y, more);
  // There is no call one and a half.
  if (at.length < 10) shape.xaxis.dtick = 1;
  return shape;
}
function line(name, x, y, style, more) {
  const mode = x.length < 3 ? "lines+markers" : "lines";
  return { type: "scatter", mode, name: literal(name), x, y, line: style, ...more };
}
const policyLine = (i, at, y, more) =>
  line(policies[i].name, counted(at), y, { color: colour(i), width: 2, dash: dash(i) }, more);

function budgetLine({ limit }, { at }) {
  if (limit == null || !at.length) return [];
  const ends = [at[0] + .5, at[at.length - 1] + 1.5];
  const style = { color: theme().ink, width: 1.5, dash: "dash" };
  return [line("budget", ends, [limit, limit], style, { mode: "lines", hoverinfo: "skip" })];
}
function drawOverall() {
  const { at, costs } = report.overall;
  $("overall-note").textContent = "What the input has cost after so many calls"
    + (sessions.length === 1 ? "." : ", one session after the other.");
  return draw("overall", policies.map((_, i) => policyLine(i, at, costs[i], AS_COST)), costLayout("calls", at));
}
function drawShares() {
  const fits = sessions.map(session => session.calibration);
  const seen = fits.flatMap((fit, i) => fit.recorded_share == null || fit.simulated_share == null ? [] : [i]);
  if (!seen.length) {
    $("shares").classList.add("empty");
    $("shares").textContent = "No session has recorded what its provider found in the cache, so there is nothing to "
      + "compare with.";
    return null;
  }
  $("shares-note").textContent = `Cached share of the input of ${plural(seen.length, "session")}: as the provider `
    + "charged it, and as simulated for the same requests. On the line they agree; the mean difference is "
    + `${report.shareError.toFixed(3)}.`;
  const label = i => literal(`${sessions[i].name}, ${plural(sessions[i].calls, "call")}`)
    + (fits[i].cause && "<br>" + literal(fits[i].cause));
  const dots = (name, some, marker) => ({
    type: "scatter", mode: "markers", name, marker, customdata: some, text: some.map(label),
    x: some.map(i => fits[i].recorded_share), y: some.map(i => fits[i].simulated_share),
    hovertemplate: "%{text}<br>recorded %{x:.1%}, simulated %{y:.1%}<extra></extra>",
  });
  const least = Math.min(...seen.flatMap(i => [fits[i].recorded_share, fits[i].simulated_share]));
  const range = [Math.max(0, Math.floor(10 * least - .5) / 10), 1.02];
  const shape = layout("recorded cached share", "simulated cached share", { hovermode: "closest" });
  for (const axis of [shape.xaxis, shape.yaxis]) {
    Object.assign(axis, { range, tickformat: ".0%", showgrid: true, nticks: 6 });
  }
  const { ink, soft, ground } = theme();
  return draw("shares", [
    line("equal", [0, 1], [0, 1], { color: soft, width: 1 }, { mode: "lines", hoverinfo: "skip" }),
    dots("session", seen, { size: 9, color: theme().policies[0], opacity: .7, line: { color: ground, width: 1 } }),
    dots("chosen session", seen.filter(i => i === chosen.session),
      { size: 13, color: "rgba(0,0,0,0)", line: { color: ink, width: 2 } }),
  ], shape);
}
function drawCost(session) {
  const lines = session.lanes.map((lane, i) => policyLine(i, lane.at, lane.costs, AS_COST));
  return draw("cost", lines, costLayout(CALLS, session.lanes[0].at));
}
function drawInputs(session, lane) {
  const { usage, calibration: fit } = session;
  const scale = `× ${fit.ratio.toFixed(2)} + ${whole(fit.overhead)} that the log does not show`;
  $("inputs-note").textContent = "Input tokens of each request" + (usage
    ? ": as recorded, and as each policy would have sent." + (fit.calls ? ` Counted tokens are corrected: ${scale}.` : "")
    : ". This session has no recorded usage to compare with.");
  const traces = session.lanes.map((one, i) => policyLine(i, one.at, one.tokens, AS_TOKENS));
  const dotted = { color: theme().ink, width: 2, dash: "dot" };
  if (usage) traces.push(line("recorded usage", counted(usage.at), usage.inputs, dotted, AS_TOKENS));
  return draw("inputs", [...traces, ...budgetLine(session, lane)], callLayout(CALLS, "input tokens", lane.at));
}
function drawWindow(session, lane) {
  $("window-note").textContent = "What each request is made of, by what became of the messages. Click “left out” in "
    + "the legend to see how much larger the untouched history would be."
    + (session.limit == null || session.limit === report.budget ? ""
      : ` The budget line is at ${whole(session.limit)} tokens, as this session's provider counts them.`);
  const known = Object.keys(theme().fates);
  const place = fate => known.includes(fate) ? known.indexOf(fate) : known.length;
  const fates = Object.keys(lane.fates).sort((a, b) => place(a) - place(b));
  const style = { color: theme().ground, width: .5 };
  // An area has no width at a single call.
  const once = lane.at.length === 1;
  const x = once ? [lane.at[0] + .5, lane.at[0] + 1.5] : counted(lane.at);
  const tokens = fate => once ? [lane.fates[fate][0], lane.fates[fate][0]] : lane.fates[fate];
  const areas = fates.map((fate, i) => line(fate, x, tokens(fate), style, {
    ...AS_TOKENS, mode: "lines", stackgroup: "fates", visible: fate === "left out" ? "legendonly" : true,
    fillcolor: theme().fates[fate] || theme().policies[i % theme().policies.length],
  }));
  return draw("window", [...areas, ...budgetLine(session, lane)], callLayout(CALLS, "tokens in the request", lane.at));
}
function drawCache(lane) {
  $("cache-note").textContent = "Input of each request: what the cache had, and what was new and had to be written. "
    + `The cached prefix broke at ${plural(lane.allBreaks, "call")}.`;
  const own = colour(chosen.policy), { ink, ground } = theme();
  const last = lane.at.length ? lane.at[lane.at.length - 1] + 1 : 1;
  // A bar of a sample stands for all calls up to the next one.
  const width = lane.at.map((call, i) => (i + 1 < lane.at.length ? lane.at[i + 1] : last) - call);
  const bars = (name, y, color) => ({
    type: "bar", name, x: counted(lane.at), y, width, offset: -.5, marker: { color, line: { width: 0 } }, ...AS_TOKENS,
  });
  const height = new Map(lane.at.map((call, i) => [call, lane.tokens[i]]));
  const shape = callLayout(CALLS, "input tokens", lane.at, { barmode: "stack", bargap: 0 });
  shape.xaxis.range = [.5, last + .5];
  return draw("cache", [
    bars("cached", lane.cached, mixed(own, ground)),
    bars("newly written", lane.tokens.map((tokens, i) => tokens - lane.cached[i]), own),
    {
      type: "scatter", mode: "markers", name: "cache broke", cliponaxis: false, hovertemplate: "%{text}",
      x: counted(lane.breaks.map(one => one[0])), y: lane.breaks.map(one => height.get(one[0])),
      text: lane.breaks.map(why),
      marker: { symbol: "triangle-down", size: 10, color: ink, line: { color: ground, width: 1 } },
    },
  ], shape);
}
function why([, message, role, reference, cause, lost]) {
  const what = role && ` (${role}${reference && ": "}${reference})`;
  return literal(`${CAUSES[cause] || cause}, from message ${message}${what}, ${whole(lost)} tokens`);
}
