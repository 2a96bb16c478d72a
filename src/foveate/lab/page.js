"use strict";

// The top: what was replayed, and how the policies did.

// Group, heading, value, how it is shown, whether more (1) or less (-1) is better, meaning.
const SUMMARY = [
  ["Input", "tokens", t => t.tokens, whole, -1, "Input tokens of all requests."],
  ["Input", "cached", t => share(t.cached, t.tokens), percent, 1,
    "Share of the input tokens that the provider's prompt cache would have had."],
  ["Input", dollars ? "cost" : "cost, in tokens", t => t.cost, money(totals.map(t => t.cost)), -1,
    "Price of the input, with its cached and newly written parts."],
  ["Input", "vs raw", t => raw < 0 || t.sent < t.calls ? null : share(t.cost, totals[raw].cost), times, -1,
    "Cost in multiples of what the untouched history costs; calls that were not made are no saving."],
  ["Calls", "over budget", t => t.over, whole, -1, "Requests larger than the budget."],
  ["Calls", "invalid", t => t.invalid, whole, -1, "Requests that a provider would reject."],
  ["Calls", "refused", t => t.refused, whole, -1,
    "Calls for which the policy made no request, because the budget does not allow one."],
  ["Calls", "failed", t => t.failed, whole, -1, "Calls at which the policy ended with an error."],
  ["References", "kept", t => share(t.kept, t.references), percent, 1,
    "Of what recorded actions took from earlier messages: still visible in the request."],
  ["References", "restorable", t => share(t.restorable, t.references), percent, 0,
    "Not visible, but the request says how to get it back."],
  ["References", "lost", t => share(t.lost, t.references), percent, -1, "Neither."],
  ["User messages", "kept", t => share(t.user_kept, t.judged), percent, 1,
    "Mean share of the user's messages so far that a request shows. References and user messages are looked for "
    + "in requests within the budget only."],
  ["Time", "ms/call", t => share(1000 * t.seconds, t.sent), tenths, -1, "What the policy took to make a request."],
];

function intro() {
  const limit = report.budget == null ? "no budget but the model's window"
    : `a budget of ${whole(report.budget)} input tokens for what a log shows`;
  const priced = report.model || "each session's recorded model";
  const who = policies.length === 1 ? policies[0].name : `${policies.length} policies`;
  $("title").textContent = `What ${who} would have cost`;
  $("lede").textContent = `${plural(sessions.length, "recorded session")} with ${plural(report.calls, "model call")}, `
    + `replayed with ${limit}, at the prices and cache rules of ${priced}${report.prices && ` (${report.prices})`}.`;
  $("summary-note").textContent = "★ marks the best of a column; input is compared among policies that made a request "
    + "for every call. Cheap is only good if little is lost.";
  const plain = ["Input", "Calls", "Time"];
  const heading = (group, name) => plain.includes(group) ? name : `${group.toLowerCase()} ${name}`;
  fill($("columns"), SUMMARY.map(([group, name, , , , meaning]) => [heading(group, name), meaning]));
  fill($("policies"), policies.map((policy, i) => [[swatch(i), policy.name], policy.description]));
  disclose($("left-out"), `${plural(report.leftOut.length, "session")} could not be replayed`,
    report.leftOut.map(one => [one.name, one.reason]));
  if (sessions.some(session => session.calls > report.points)) {
    $("sampled").textContent = `Sessions of more than ${whole(report.points)} calls are drawn by a sample of about as `
      + "many, evenly spaced, with the largest cache breaks among them. Tables and totals count every call.";
  }
}
function summaryTable() {
  const groups = SUMMARY.map(column => column[0]);
  const edge = i => groups[i] === groups[i - 1] ? "" : "edge";
  const span = group => groups.filter(one => one === group).length;
  const tops = [...new Set(groups)].map(group =>
    make("th", { className: "group edge", scope: "colgroup", colSpan: span(group), textContent: group }));
  const heads = SUMMARY.map(([, name, , , , meaning], i) =>
    make("th", { className: edge(i), scope: "col", title: meaning, textContent: name }));
  const best = SUMMARY.map(bestOf);
  const rows = totals.map((total, i) => make("tr", {},
    make("th", { scope: "row" }, swatch(i), policies[i].name),
    ...SUMMARY.map(([, , value, shown], column) => make("td", {
      className: edge(column) + (best[column].has(i) ? " best" : ""),
      title: best[column].has(i) ? "best" : "",
      textContent: shown(value(total)),
    }))));
  $("summary").append(
    make("thead", {}, make("tr", {}, make("th", { className: "group" }), ...tops),
      make("tr", {}, make("th", { scope: "col", textContent: "Policy" }), ...heads)),
    make("tbody", {}, ...rows));
}
function bestOf([group, , value, shown, better]) {
  // Who makes no request pays nothing for it.
  const values = totals.map(total => group === "Input" && total.sent < total.calls ? null : value(total));
  const top = better * Math.max(...values.filter(one => one != null).map(one => better * one));
  const best = values.flatMap((one, i) => one != null && shown(one) === shown(top) ? [i] : []);
  return new Set(better && best.length < policies.length ? best : []);
}

// The table of sessions.

const asCost = money(sessions.flatMap(session => session.lanes.map(lane => lane.cost)));
// Key, heading, value, how a number is shown, place of the policy it belongs to.
const COLUMNS = [
  ["name", "Session", session => session.name],
  ["format", "format", session => session.format],
  ["calls", "calls", session => session.calls, whole],
  ...policies.map((policy, i) => [`cost-${i}`, policy.name, session => session.lanes[i].cost, asCost, i]),
  ["recorded", "cached, recorded", session => session.calibration.recorded_share, percent],
  ["simulated", "cached, simulated", session => session.calibration.simulated_share, percent],
  ["cause", "why they differ", session => session.calibration.cause],
];

function sessionTable() {
  const read = COLUMNS.find(([key]) => key === chosen.sort)[2];
  const order = sessions.map((_, i) => i).sort((a, b) => compare(read(sessions[a]), read(sessions[b])) || a - b);
  $("sessions").style.setProperty("--name-width", `${Math.max(14, 34 - 4 * policies.length)}em`);
  $("sessions").replaceChildren(
    make("thead", {}, make("tr", {}, ...COLUMNS.map(sessionHead))),
    make("tbody", {}, ...order.map(sessionRow)));
  markRow();
}
function compare(a, b) {
  const unknown = value => value == null || value === "";
  if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
  return (chosen.descending ? -1 : 1) * (typeof a === "string" ? a.localeCompare(b) : a - b);
}
function sessionHead([key, title, , , policy]) {
  const button = make("button", { textContent: title, onclick: () => sortBy(key) });
  const head = make("th", { className: key, scope: "col" }, button);
  if (policy !== undefined) head.prepend(swatch(policy));
  if (key === chosen.sort) head.setAttribute("aria-sort", chosen.descending ? "descending" : "ascending");
  return head;
}
function sessionRow(i) {
  const session = sessions[i];
  const onclick = () => { choose(i); $("one").scrollIntoView(); };
  const row = make("tr", {}, ...COLUMNS.map(([key, , value, shown]) => key === "name"
    ? make("td", { title: session.name }, make("button", { textContent: session.name, onclick }))
    : shown ? make("td", { textContent: shown(value(session)) })
      : make("td", { className: key, title: value(session), textContent: value(session) })));
  row.dataset.session = i;
  return row;
}
function sortBy(key) {
  chosen.descending = chosen.sort === key ? !chosen.descending : !["name", "format", "cause"].includes(key);
  chosen.sort = key;
  sessionTable();
}
function markRow() {
  for (const row of $("sessions").tBodies[0].rows) {
    if (Number(row.dataset.session) === chosen.session) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

// Choosing a session and a policy.

function sessionChooser() {
  const input = $("session"), list = $("matches"), most = 500;
  const details = session => joined([plural(session.calls, "call"), session.format, session.model]);
  const texts = sessions.map(session => `${session.name} ${details(session)}`.toLowerCase());
  let found = [], at = -1;

  function open(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    found = texts.flatMap((one, i) => words.every(word => one.includes(word)) ? [i] : []);
    const more = !found.length ? "No session has this in its name, format or model."
      : found.length > most ? `${whole(found.length - most)} more: type to narrow` : "";
    list.replaceChildren(...found.slice(0, most).map(option));
    if (more) list.append(make("li", {}, make("small", { textContent: more })));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    const place = found.indexOf(chosen.session);
    move(text ? 0 : place < most ? place : -1);
  }
  function option(i, place) {
    const onmousedown = event => { event.preventDefault(); take(i); input.blur(); };
    return make("li", { id: `match-${place}`, role: "option", onmousedown },
      sessions[i].name, make("small", { textContent: details(sessions[i]) }));
  }
  function move(to) {
    at = Math.min(to, found.length - 1, most - 1);
    list.querySelectorAll("[role=option]").forEach((item, i) => item.setAttribute("aria-selected", i === at));
    if (at < 0) return;
    input.setAttribute("aria-activedescendant", `match-${at}`);
    list.children[at].scrollIntoView({ block: "nearest" });
  }
  function take(i) {
    if (i !== undefined) choose(i);
    close();
  }
  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    input.value = sessions[chosen.session].name;
  }
  const keys = {
    ArrowDown: () => list.hidden ? open("") : move(at + 1),
    ArrowUp: () => list.hidden ? open("") : move(Math.max(0, at - 1)),
    Enter: () => list.hidden ? open("") : take(found[at]),
    Escape: close,
  };
  input.onfocus = () => { input.select(); open(""); };
  input.onclick = () => { if (list.hidden) open(""); };
  input.oninput = () => open(input.value);
  input.onblur = close;
  input.onkeydown = event => {
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  };
}
function policyChooser() {
  $("policy").append(...policies.map((policy, i) => {
    const onchange = () => { chosen.policy = i; drawSession(); };
    const radio = make("input", { type: "radio", name: "policy", value: i, checked: i === chosen.policy, onchange });
    const pill = make("span", { className: "pill" }, swatch(i), policy.name);
    return make("label", { title: policy.description }, radio, pill);
  }));
}
function choose(i) {
  chosen.session = i;
  $("session").value = sessions[i].name;
  markRow();
  drawShares();
  drawSession();
}

// Drawing all of it.

function drawSession() {
  const session = sessions[chosen.session], lane = session.lanes[chosen.policy], fit = session.calibration;
  $("session-note").textContent = joined([
    session.source, session.format, session.model || "model not recorded",
    session.pricedAs && session.pricedAs !== session.model && `priced as ${session.pricedAs}`,
    plural(session.messages, "message"), plural(session.calls, "call"),
    fit.recorded_share != null && `cached share ${percent(fit.recorded_share)} recorded`,
    fit.simulated_share != null && `${percent(fit.simulated_share)} simulated`, fit.cause,
  ]);
  for (const place of document.querySelectorAll(".chosen")) place.textContent = policies[chosen.policy].name;
  disclose($("problems"), "Calls of this session that went wrong", session.lanes.flatMap((one, i) =>
    one.problems.map(([kind, text, count, first]) =>
      [policies[i].name, `${kind} at ${plural(count, "call")}, first at call ${whole(first + 1)}: ${text}`])));
  return Promise.all([drawCost(session), drawInputs(session, lane), drawWindow(session, lane), drawCache(lane)]);
}
function drawAll() {
  policies.forEach((_, i) => document.documentElement.style.setProperty(`--policy-${i}`, colour(i)));
  return sessions.length ? Promise.all([drawOverall(), drawShares(), drawSession()]) : Promise.resolve();
}

intro();
summaryTable();
if (sessions.length) {
  $("all").hidden = $("one").hidden = false;
  chosen.session = sessions.reduce((most, session, i) => session.calls > sessions[most].calls ? i : most, 0);
  $("session").value = sessions[chosen.session].name;
  sessionTable();
  sessionChooser();
  policyChooser();
}
prefersDark.addEventListener("change", drawAll);
addEventListener("beforeprint", () => { printing = true; drawAll(); });
addEventListener("afterprint", () => { printing = false; drawAll(); });
drawAll().then(() => {
  // Without recorded usage there is no plot to click.
  $("shares").on?.("plotly_click", ({ points: [{ customdata }] }) => customdata !== undefined && choose(customdata));
  document.documentElement.dataset.drawn = "yes";
});
