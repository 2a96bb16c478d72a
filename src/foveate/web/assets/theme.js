// Before the first paint: which theme is wanted, so that nothing flashes.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("foveate-theme"); } catch { return null; } };
  const show = () => {
    const wanted = stored() ?? (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = wanted;
    globalThis.Quasar?.Dark?.set(wanted === "dark");
  };
  globalThis.foveate = {
    switchTheme() {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      try { localStorage.setItem("foveate-theme", next); } catch { /* Without storage the choice lasts for this page. */ }
      document.documentElement.dataset.theme = next;
      globalThis.Quasar?.Dark?.set(next === "dark");
    },
    escaped: (text) => String(text).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`),
    tokens: (count) => Number(count).toLocaleString("en"),
  };
  show();
  system.addEventListener("change", show);
  addEventListener("load", show);
  addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const found = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!found) return;
    event.preventDefault();
    if (found.matches("input")) found.focus(); else found.click();
  });
})();

// Where not all pages fit into the bar: the open one is in sight, and an edge behind which there are more fades out.
(() => {
  const watch = () => {
    const nav = document.querySelector(".bar nav");
    if (!nav?.querySelector("a")) return requestAnimationFrame(watch);
    const show = () => {
      const left = nav.scrollLeft > 1, right = nav.scrollLeft + nav.clientWidth < nav.scrollWidth - 1;
      nav.dataset.more = left && right ? "both" : left ? "left" : right ? "right" : "";
    };
    const open = nav.querySelector("[aria-current]");
    if (open) nav.scrollLeft = open.offsetLeft - nav.offsetLeft - (nav.clientWidth - open.offsetWidth) / 2;
    nav.addEventListener("scroll", show, { passive: true });
    addEventListener("resize", show);
    show();
  };
  addEventListener("DOMContentLoaded", watch);
})();

// The words of charts; only numbers and escaped texts go into what is shown.
Object.assign(globalThis.foveate, {
  short(value) {
    if (value >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
    return value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : `${+value.toFixed(2)}`;
  },
  money: (value) => `$${value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(2) : +value.toFixed(4)}`,
  tip(points) {
    const { escaped, tokens } = globalThis.foveate;
    const call = points.find((point) => point.seriesName === "calls");
    if (!call) return "";
    const info = call.data.info;
    const line = (shade, name, value) =>
      `<div class="tip-line"><i style="background:${escaped(shade)}"></i><span>${escaped(name)}</span><b>${value}</b></div>`;
    const number = (name) => points.find((point) => point.seriesName === name)?.value[1];
    const spelt = info.isMoney ? globalThis.foveate.money : globalThis.foveate.short;
    const cost = (name) => (number(name) === undefined ? "" : spelt(number(name)));
    const of = info.budget ? ` of ${escaped(info.budget)}` : "";
    return `<div class="tip-box">
      <div class="tip-title">Call ${tokens(call.value[0])} · ${tokens(call.value[1])}${of} tokens</div>
      ${info.compactions.map(([trigger, shade, reason, before, after]) =>
        `<div class="tip-why"><b style="color:${escaped(shade)}">${escaped(trigger)}</b> ${escaped(before)} → ${escaped(after)}
         tokens: ${escaped(reason)}</div>`).join("")}
      ${info.parts.slice().reverse().map(([name, shade, size]) => line(shade, name, tokens(size))).join("")}
      <div class="tip-rule"></div>
      ${line("#69b3ab", "cached (predicted)", tokens(info.cached[0]))}
      ${line("#e2925f", "fresh", tokens(info.cached[1]))}
      ${info.reported[1] === null ? "" : line("transparent", "cached (reported)", tokens(info.reported[1]))}
      <div class="tip-rule"></div>
      ${line("#178f87", "cost so far", cost("as sent"))}
      ${line("#98a1aa", "untouched so far", cost("untouched history"))}
    </div>`;
  },
});
