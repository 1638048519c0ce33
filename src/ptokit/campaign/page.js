"use strict";
const { cases, before } = JSON.parse(document.getElementById("data").textContent);
const STEP = 200;
const chosen = { status: "", action: "", target: "", rule: "", change: "", text: "" };
let limit = STEP;
let only = null; // the one case that the address names
cases.forEach((c, number) => { c.number = number; });

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Long names may be broken behind slashes and underscores.
function breakable(name) {
  const node = make("code");
  for (const part of name.split(/(?<=[/_])/)) node.append(part, make("wbr"));
  return node;
}

function link(c, text) {
  return make("a", { href: `#case-${c.number}` }, text);
}

function values(pick) {
  return [...new Set(cases.flatMap(pick))].filter(Boolean).sort();
}

function select(key, words, all) {
  if (words.length < 2 && key !== "change") return "";
  const node = make("select", { "aria-label": key }, make("option", { value: "" }, all));
  for (const word of words) node.append(make("option", { value: word }, word));
  node.addEventListener("change", () => { chosen[key] = node.value; changed(); });
  return node;
}

const search = make("input", { type: "search", placeholder: "program or message", "aria-label": "search" });
search.addEventListener("input", () => { chosen.text = search.value.toLowerCase(); changed(); });
const filters = document.getElementById("filters");
filters.addEventListener("submit", (event) => event.preventDefault());
filters.append(
  select("action", values((c) => c.action), "every action"),
  select("target", values((c) => c.target), "every target"),
  select("rule", values((c) => c.rules ?? []), "every rule"),
  before ? select("change", values((c) => c.change ?? []), "changed or not") : "",
  search,
);

const byRule = new Map();
for (const c of cases) for (const rule of c.rules ?? []) byRule.set(rule, (byRule.get(rule) ?? 0) + 1);
const rules = document.getElementById("rules");
for (const [rule, count] of [...byRule].sort((a, b) => b[1] - a[1]).slice(0, 12)) {
  const button = make("button", { "data-rule": rule }, `${rule} `, make("b", {}, count.toLocaleString("en")));
  button.addEventListener("click", () => {
    chosen.rule = chosen.rule === rule ? "" : rule;
    const list = filters.querySelector("select[aria-label=rule]");
    if (list) list.value = chosen.rule;
    changed();
  });
  rules.append(button);
}

for (const button of document.querySelectorAll("#counts button")) {
  button.addEventListener("click", () => {
    chosen.status = chosen.status === button.dataset.status ? "" : button.dataset.status;
    changed();
  });
}

// A filter was chosen: it holds for all cases.
function changed() {
  limit = STEP;
  only = null;
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  show();
}

function fits(c) {
  if (only !== null) return c.number === only;
  return (!chosen.status || c.status === chosen.status)
    && (!chosen.action || c.action === chosen.action)
    && (!chosen.target || c.target === chosen.target)
    && (!chosen.rule || (c.rules ?? []).includes(chosen.rule))
    && (!chosen.change || c.change === chosen.change)
    && (!chosen.text || `${c.program} ${c.message ?? ""}`.toLowerCase().includes(chosen.text));
}

function findings(c) {
  const list = make("ul");
  for (const f of c.findings) {
    const place = f.line ? `${c.program}:${f.line}: ` : "";
    list.append(make("li", { class: f.severity }, make("code", {}, `${place}${f.rule}`), ` ${f.message}`,
      f.hint ? make("div", { class: "hint" }, f.hint) : ""));
  }
  return make("details", only === null ? {} : { open: "" }, make("summary", {}, c.message || `${c.findings.length} remarks`), list);
}

function row(c) {
  const status = make("td", { class: `status ${c.status.split(" ")[0]}` }, c.status);
  if (c.change) status.append(make("span", { class: "change" }, c.change));
  const about = c.findings ? findings(c) : c.message ?? "";
  const name = c.id.slice(c.program.length).trim();
  return make("tr", {}, status, make("td", { class: "program" }, breakable(c.program)),
    make("td", { class: "name" }, link(c, name)),
    make("td", {}, about), make("td", { class: "number" }, c.seconds === undefined ? "" : duration(c.seconds)));
}

function duration(seconds) {
  return seconds < 1 ? `${(seconds * 1e3).toFixed(1)} ms` : `${seconds.toFixed(2)} s`;
}

function show() {
  for (const button of document.querySelectorAll("#counts button")) {
    button.setAttribute("aria-pressed", String(button.dataset.status === chosen.status));
  }
  for (const button of rules.children) {
    button.setAttribute("aria-pressed", String(button.dataset.rule === chosen.rule));
  }
  // What did not pass comes first.
  const found = [...cases.filter((c) => fits(c) && c.status !== "passed"),
    ...cases.filter((c) => fits(c) && c.status === "passed")];
  document.querySelector("tbody").replaceChildren(...found.slice(0, limit).map(row));
  const shown = document.getElementById("shown");
  shown.textContent = `${found.length.toLocaleString("en")} of ${cases.length.toLocaleString("en")} cases `;
  if (only !== null) shown.append(make("a", { href: "#" }, "show all"));
  const more = document.getElementById("more");
  more.replaceChildren();
  if (found.length > limit) {
    const button = make("button", {}, `show ${Math.min(STEP, found.length - limit)} more`);
    button.addEventListener("click", () => { limit += STEP; show(); });
    more.append(button);
  }
}

document.querySelector("thead tr").append(...["status", "program", "case", "what", "time"].map((w) => make("th", {}, w)));
document.getElementById("slowest").append(...cases.filter((c) => c.seconds).sort((a, b) => b.seconds - a.seconds)
  .slice(0, 10).map((c) => make("li", {}, `${duration(c.seconds)} `, link(c, c.id))));

function follow() {
  const named = /^#case-(\d+)$/.exec(location.hash);
  only = named && Number(named[1]) < cases.length ? Number(named[1]) : null;
  show();
  if (only !== null) document.getElementById("filters").scrollIntoView();
}

window.addEventListener("hashchange", follow);
follow();
