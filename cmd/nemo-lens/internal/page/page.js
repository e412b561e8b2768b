
"use strict";
(() => {
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const count = data.t.length;
// Typed arrays: a hundred thousand spans are looked through for every picture.
const T = Float64Array.from(data.t), D = Float64Array.from(data.d);
const N = Uint32Array.from(data.n), U = Int32Array.from(data.u), C = Uint32Array.from(data.c), K = Int32Array.from(data.k);
const E = Uint8Array.from(data.e), A = Uint32Array.from(data.a), O = Uint32Array.from(data.o), P = new Uint32Array(count);
data.processes.forEach((p, i) => p.rows.forEach(([from, to]) => P.fill(i, from, to)));
const length = Math.max(data.length, 1);

// Children of each span, for its own time.
const childStart = new Uint32Array(count + 1), children = new Uint32Array(count);
for (let i = 0; i < count; i++) if (U[i] >= 0) childStart[U[i] + 1]++;
for (let i = 0; i < count; i++) childStart[i + 1] += childStart[i];
{ const at = childStart.slice(); for (let i = 0; i < count; i++) if (U[i] >= 0) children[at[U[i]]++] = i; }
function selfTime(i) {
  const list = Array.from(children.subarray(childStart[i], childStart[i + 1])).sort((a, b) => T[a] - T[b]);
  let self = D[i], at = T[i];
  for (const c of list) {
    const from = Math.max(T[c], at), to = Math.min(T[c] + D[c], T[i] + D[i]);
    if (to > from) { self -= to - from; at = to; }
  }
  return self;
}

function time(ns) {
  const a = Math.abs(ns);
  const digits = x => x >= 100 ? x.toFixed(1) : x >= 10 ? x.toFixed(2) : x.toFixed(3);
  if (a === 0) return "0";
  if (a < 1e3) return ns.toFixed(0) + " ns";
  if (a < 1e6) return digits(ns / 1e3) + " µs";
  if (a < 1e9) return digits(ns / 1e6) + " ms";
  if (a < 120e9) return digits(ns / 1e9) + " s";
  if (a < 7200e9) return Math.floor(ns / 60e9) + " m " + Math.floor(ns / 1e9 % 60) + " s";
  return Math.floor(ns / 3600e9) + " h " + Math.floor(ns / 60e9 % 60) + " m";
}

// Names have colours that stay the same from run to run.
const colors = data.names.map(name => {
  let h = 2166136261;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
  h = (h ^ h >>> 15) >>> 0;
  return `hsl(${h % 360} ${50 + h % 5 * 5}% ${58 + h % 3 * 5}%)`;
});

// Geometry in pixels of the page.
const rowHeight = 15, gap = 7, left = 110, top_ = 26;
let offsets = [], total = 0;
for (const p of data.processes) { offsets.push(total); total += p.rows.length * rowHeight + gap; }
let view = { from: 0, to: length, y: 0 };
let selected = -1, hover = -1, range = null, dragging = null;
let hits = null, hitList = [], hitAt = -1;

const canvas = $("canvas"), ctx = canvas.getContext("2d");
let width = 0, height = 0, asked = false;
function ask() { if (!asked) { asked = true; requestAnimationFrame(() => { asked = false; draw(); }); } }
function resize() {
  const box = canvas.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
  width = box.width; height = box.height;
  canvas.width = Math.round(width * scale); canvas.height = Math.round(height * scale);
  ctx.setTransform(scale, 0, 0, scale, 0, 0);
  draw();
}
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const X = t => left + (t - view.from) / (view.to - view.from) * (width - left);
const timeAt = x => view.from + (x - left) / (width - left) * (view.to - view.from);

// first is the first span of a row that ends after t; in a row nothing overlaps.
function first(from, to, t) {
  while (from < to) { const m = (from + to) >> 1; if (T[m] + D[m] > t) to = m; else from = m + 1; }
  return from;
}

function draw() {
  const fg = css("--fg"), faint = css("--faint"), line = css("--line"), bg = css("--bg"), accent = css("--accent");
  ctx.fillStyle = bg; ctx.fillRect(0, 0, width, height);
  ctx.font = "11px system-ui, sans-serif"; ctx.textBaseline = "middle";
  const perPixel = (view.to - view.from) / Math.max(width - left, 1);
  let drawn = 0;
  ctx.save();
  ctx.beginPath(); ctx.rect(0, top_, width, height - top_); ctx.clip();
  data.processes.forEach((p, pi) => {
    const y0 = top_ + offsets[pi] - view.y;
    if (y0 > height || y0 + p.rows.length * rowHeight < top_) return;
    p.rows.forEach(([from, to], r) => {
      const y = y0 + r * rowHeight;
      if (y > height || y + rowHeight < top_) return;
      for (let i = first(from, to, view.from); i < to && T[i] < view.to; ) {
        const x = Math.max(X(T[i]), left), x2 = Math.min(X(T[i] + D[i]), width);
        const w = Math.max(x2 - x, 1);
        const dim = hits && !hits[i];
        ctx.globalAlpha = dim ? 0.18 : 1;
        ctx.fillStyle = E[i] & 1 ? "#d1242f" : colors[N[i]];
        ctx.fillRect(x, y + 1, w > 3 ? w - 0.5 : w, rowHeight - 2);
        drawn++;
        if (w > 30) {
          const text = data.names[N[i]] + (K[i] >= 0 && (U[i] < 0 || K[U[i]] !== K[i]) ? " #" + K[i] : "");
          ctx.fillStyle = "#10131a";
          ctx.fillText(fit(text, w - 6), x + 3, y + rowHeight / 2);
        }
        // Of spans that share a pixel one is drawn: the next is searched for, not
        // walked to. A hit is never hidden by its neighbours.
        if (w <= 1) {
          const next = first(i + 1, to, T[i] + perPixel);
          let skip = Math.max(i + 1, next);
          if (dim) { for (let j = i + 1; j < skip; j++) if (hits[j]) { skip = j; break; } }
          i = skip;
        } else i++;
      }
    });
    ctx.globalAlpha = 1;
    ctx.fillStyle = bg; ctx.fillRect(0, y0, left - 1, p.rows.length * rowHeight + gap);
    ctx.fillStyle = fg; ctx.fillText(fit(p.label, left - 14), 8, y0 + rowHeight / 2);
    if (p.host && p.rows.length > 1) { ctx.fillStyle = faint; ctx.fillText(fit(p.host, left - 14), 8, y0 + rowHeight * 1.5); }
    ctx.strokeStyle = line; ctx.beginPath();
    ctx.moveTo(0, y0 + p.rows.length * rowHeight + gap / 2); ctx.lineTo(width, y0 + p.rows.length * rowHeight + gap / 2); ctx.stroke();
  });
  ctx.globalAlpha = 1;
  for (const [i, color, thick] of [[hover, fg, 1], [selected, accent, 2]]) {
    if (i < 0) continue;
    const [y] = rowOf(i), x = Math.max(X(T[i]), left - 2), x2 = Math.min(X(T[i] + D[i]), width + 2);
    if (x2 < left || x > width) continue;
    ctx.strokeStyle = color; ctx.lineWidth = thick;
    ctx.strokeRect(x - 0.5, y + 0.5, Math.max(x2 - x, 2) + 1, rowHeight - 1);
    ctx.lineWidth = 1;
  }
  ctx.restore();
  // Ruler.
  ctx.fillStyle = css("--panel"); ctx.fillRect(0, 0, width, top_);
  const wanted = (view.to - view.from) / Math.max((width - left) / 110, 1);
  const power = Math.pow(10, Math.floor(Math.log10(wanted)));
  const tick = [1, 2, 5, 10].map(m => m * power).find(s => s >= wanted);
  for (let t = Math.ceil(view.from / tick) * tick; t <= view.to; t += tick) {
    const x = X(t);
    ctx.strokeStyle = line; ctx.globalAlpha = 0.6; ctx.beginPath(); ctx.moveTo(x, top_); ctx.lineTo(x, height); ctx.stroke(); ctx.globalAlpha = 1;
    ctx.fillStyle = faint; ctx.fillText(tickText(t, tick), x + 3, top_ / 2);
  }
  if (range) {
    const a = X(Math.min(range[0], range[1])), b = X(Math.max(range[0], range[1]));
    ctx.fillStyle = accent; ctx.globalAlpha = 0.15; ctx.fillRect(a, top_, b - a, height); ctx.globalAlpha = 1;
    ctx.fillText(time(Math.abs(range[1] - range[0])), (a + b) / 2 - 20, top_ + 8);
  }
  // A scroll bar, when there is more than fits.
  const room = height - top_;
  if (total > room) {
    ctx.fillStyle = faint; ctx.globalAlpha = 0.5;
    ctx.fillRect(width - 6, top_ + view.y / total * room, 5, Math.max(room / total * room, 20)); ctx.globalAlpha = 1;
  }
  window.__drawn = drawn;
}

function tickText(t, tick) {
  for (const [unit, name] of [[1e9, " s"], [1e6, " ms"], [1e3, " µs"]]) {
    if (Math.max(Math.abs(view.to), tick) >= unit && tick >= unit / 1000) {
      const decimals = Math.max(0, Math.ceil(-Math.log10(tick / unit) - 1e-9));
      return (t / unit).toFixed(Math.min(decimals, 6)) + name;
    }
  }
  return t.toFixed(0) + " ns";
}

const widths = new Map();
function fit(text, room) {
  let w = widths.get(text);
  if (w === undefined) { w = ctx.measureText(text).width; if (widths.size < 20000) widths.set(text, w); }
  if (w <= room) return text;
  const n = Math.floor(text.length * room / w) - 1;
  return n > 1 ? text.slice(0, n) + "…" : "";
}

function rowOf(i) {
  const p = data.processes[P[i]];
  const r = p.rows.findIndex(([from, to]) => i >= from && i < to);
  const y = offsets[P[i]] + r * rowHeight;
  return [top_ + y - view.y, y];
}

function spanAt(x, y) {
  if (x < left || y < top_) return -1;
  const yy = y - top_ + view.y;
  for (let pi = 0; pi < offsets.length; pi++) {
    const r = Math.floor((yy - offsets[pi]) / rowHeight);
    if (yy < offsets[pi] || r >= data.processes[pi].rows.length) continue;
    const [from, to] = data.processes[pi].rows[r];
    const slack = 2 * (view.to - view.from) / (width - left);
    const t = timeAt(x), i = first(from, to, t - slack);
    // A span that is too thin for its width is met a little beside it.
    if (i < to && T[i] <= t + slack) {
      if (T[i] + D[i] < t && i + 1 < to && T[i + 1] <= t) return i + 1;
      return i;
    }
    return -1;
  }
  return -1;
}

function clamp() {
  const least = 10;
  let w = Math.min(Math.max(view.to - view.from, least), length * 1.02);
  if (view.from < -length * 0.01) view.from = -length * 0.01;
  if (view.from + w > length * 1.01) view.from = length * 1.01 - w;
  view.to = view.from + w;
  view.y = Math.max(0, Math.min(view.y, total - (height - top_)));
  if (total < height - top_) view.y = 0;
}
function zoom(factor, x) {
  const t = x === undefined ? (view.from + view.to) / 2 : timeAt(Math.max(x, left));
  view.from = t - (t - view.from) * factor; view.to = t + (view.to - t) * factor;
  clamp(); ask();
}
function pan(share) { const w = (view.to - view.from) * share; view.from += w; view.to += w; clamp(); ask(); }
function show(from, to) { view.from = from; view.to = Math.max(to, from + 10); clamp(); ask(); }
function showSpan(i, zoomIn) {
  const end = T[i] + D[i];
  if (zoomIn || T[i] > view.to || end < view.from) {
    const w = zoomIn ? Math.max(D[i] * 1.2, 100) : view.to - view.from, mid = T[i] + D[i] / 2;
    view.from = mid - w / 2; view.to = mid + w / 2;
  }
  const [, y] = rowOf(i), room = height - top_;
  if (y < view.y || y + rowHeight > view.y + room) view.y = y - room / 2;
  clamp(); ask();
}

// Selection.
function entry(list, key, value, action) {
  const dt = document.createElement("dt"), dd = document.createElement("dd");
  dt.textContent = key;
  if (action) { const a = document.createElement("a"); a.textContent = value; a.onclick = action; dd.append(a); } else dd.textContent = value;
  list.append(dt, dd);
}
function select(i) {
  selected = i;
  $("detail").hidden = i < 0;
  if (i >= 0) {
    $("dname").textContent = data.names[N[i]];
    const list = $("dlist");
    list.replaceChildren();
    const p = data.processes[P[i]];
    entry(list, "process", p.label + (p.host ? " on " + p.host : ""));
    entry(list, "duration", time(D[i]));
    entry(list, "own time", time(selfTime(i)));
    entry(list, "start", time(T[i]) + " after the first span");
    if (K[i] >= 0) entry(list, "step", String(K[i]), () => showStep(K[i]));
    if (O[i]) entry(list, "rollout", data.rollouts[O[i]]);
    if (E[i] & 1) entry(list, "status", "Error");
    if (E[i] & 2) entry(list, "truncated", "it was still open when its process ended");
    if (E[i] & 8) entry(list, "open", "it had not ended at the last sign of life of its process, to which it is drawn");
    if (U[i] >= 0) entry(list, "parent", data.names[N[U[i]]], () => { select(U[i]); showSpan(U[i]); });
    const n = childStart[i + 1] - childStart[i];
    if (n) entry(list, "children", String(n));
    for (const [k, v] of Object.entries(JSON.parse(data.attrs[A[i]]))) entry(list, k, typeof v === "string" ? v : JSON.stringify(v));
    entry(list, "trace", data.traces[C[i]]);
    entry(list, "span", data.i.slice(i * 16, i * 16 + 16));
  }
  ask();
}

// Search.
function search(text) {
  const wanted = text.trim().toLowerCase();
  hits = null; hitList = []; hitAt = -1;
  if (wanted) {
    const inName = data.names.map(n => n.toLowerCase().includes(wanted));
    const inAttrs = data.attrs.map(a => a.toLowerCase().includes(wanted));
    const inTrace = data.traces.map(t => t.startsWith(wanted));
    const inRollout = data.rollouts.map(r => r.toLowerCase().includes(wanted));
    const inProcess = data.processes.map(p => p.label.toLowerCase() === wanted);
    const id = /^[0-9a-f]{16}$/.test(wanted) ? data.i.match(/.{16}/g).indexOf(wanted) : -1;
    const step = /^#\d+$/.test(wanted) ? +wanted.slice(1) : -1;
    hits = new Uint8Array(count);
    for (let i = 0; i < count; i++) {
      if (inName[N[i]] || inAttrs[A[i]] || inTrace[C[i]] || inRollout[O[i]] || inProcess[P[i]] || i === id || step >= 0 && K[i] === step) { hits[i] = 1; hitList.push(i); }
    }
    hitList.sort((a, b) => T[a] - T[b]);
  }
  $("hits").textContent = wanted ? hitList.length + (hitList.length === 1 ? " hit" : " hits") : "";
  ask();
}
function nextHit(by) {
  if (!hitList.length) return;
  hitAt = (hitAt + by + hitList.length) % hitList.length;
  select(hitList[hitAt]); showSpan(hitList[hitAt]);
  $("hits").textContent = hitAt + 1 + " of " + hitList.length;
}

// Tables.
function table(el, columns, rows, onRow) {
  const head = document.createElement("thead"), body = document.createElement("tbody"), tr = document.createElement("tr");
  let order = -1, up = false;
  function fill() {
    body.replaceChildren(...rows.map(r => {
      const line = document.createElement("tr");
      for (const c of columns) {
        const td = document.createElement("td");
        if (c.swatch) { const s = document.createElement("span"); s.className = "swatch"; s.style.background = c.swatch(r); td.append(s); }
        td.append(c.text(r)); if (c.bad && c.bad(r)) td.className = "bad";
        line.append(td);
      }
      line.title = columns[0].text(r);
      line.onclick = () => onRow(r);
      return line;
    }));
  }
  columns.forEach((c, k) => {
    const th = document.createElement("th");
    th.textContent = c.title;
    th.onclick = () => {
      up = order === k ? !up : false; order = k;
      rows.sort((a, b) => (c.key(a) < c.key(b) ? -1 : c.key(a) > c.key(b) ? 1 : 0) * (up ? 1 : -1));
      fill();
    };
    tr.append(th);
  });
  head.append(tr); fill(); el.replaceChildren(head, body);
}
const nameNumber = new Map(data.names.map((n, i) => [n, i]));
function namesTable(rows) {
  const t = (title, f) => ({ title, key: f, text: r => time(f(r)) });
  table($("names"), [
    { title: "name", key: r => r.name, text: r => r.name, swatch: r => colors[nameNumber.get(r.name)] },
    { title: "count", key: r => r.count, text: r => String(r.count), bad: r => r.errors > 0 },
    t("total", r => r.total_ns), t("self", r => r.self_ns), t("p50", r => r.p50_ns), t("p95", r => r.p95_ns), t("max", r => r.max_ns),
  ], rows.slice(), r => { $("search").value = r.name; search(r.name); });
}
function rangeSummary() {
  if (!range) { $("scope").textContent = ""; namesTable(data.summary || []); return; }
  const a = Math.min(range[0], range[1]), b = Math.max(range[0], range[1]), byName = new Map();
  for (let i = 0; i < count; i++) {
    if (T[i] > b || T[i] + D[i] < a) continue;
    let r = byName.get(N[i]);
    if (!r) byName.set(N[i], r = { name: data.names[N[i]], count: 0, errors: 0, total_ns: 0, self_ns: 0, d: [] });
    r.count++; r.total_ns += D[i]; r.self_ns += selfTime(i); r.errors += E[i] & 1; r.d.push(D[i]);
  }
  const rows = [...byName.values()];
  for (const r of rows) {
    r.d.sort((x, y) => x - y);
    const q = s => r.d[Math.max(0, Math.ceil(s * r.d.length) - 1)];
    r.p50_ns = q(0.5); r.p95_ns = q(0.95); r.max_ns = r.d[r.d.length - 1];
  }
  rows.sort((x, y) => y.self_ns - x.self_ns);
  $("scope").textContent = "spans in " + time(b - a) + " chosen";
  namesTable(rows);
}
function showStep(step) {
  let from = Infinity, to = -Infinity;
  for (let i = 0; i < count; i++) if (K[i] === step) { from = Math.min(from, T[i]); to = Math.max(to, T[i] + D[i]); }
  if (from < to) { const m = (to - from) * 0.05; show(from - m, to + m); }
}
function stepsTable() {
  const t = (title, f) => ({ title, key: f, text: r => time(f(r)) });
  table($("steps"), [
    { title: "step", key: r => r.step, text: r => String(r.step) },
    t("duration", r => r.duration_ns), { title: "slowest", key: r => r.slowest_rank, text: r => r.slowest },
    t("busy", r => r.busy_ns), t("lag", r => r.lag_ns), t("others waited", r => r.others_waited_ns),
  ], (data.steps || []).slice(), r => showStep(r.step));
}
function tab(names) {
  $("names").hidden = !names; $("steps").hidden = names;
  $("tabnames").classList.toggle("on", names); $("tabsteps").classList.toggle("on", !names);
  if (!names && !$("steps").firstChild) stepsTable();
}

// Input.
const at = e => { const b = canvas.getBoundingClientRect(); return [e.clientX - b.left, e.clientY - b.top]; };
canvas.addEventListener("wheel", e => {
  e.preventDefault();
  const [x] = at(e);
  if (e.shiftKey) { view.y += e.deltaY || e.deltaX; clamp(); ask(); }
  else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan(e.deltaX / (width - left));
  else if (x < left) { view.y += e.deltaY; clamp(); ask(); }
  else zoom(Math.exp(Math.max(-300, Math.min(300, e.deltaY)) * 0.0022), x);
}, { passive: false });
canvas.addEventListener("mousedown", e => {
  const [x, y] = at(e);
  dragging = { x, y, moved: false, view: { ...view }, range: e.shiftKey };
  if (e.shiftKey) { range = [timeAt(x), timeAt(x)]; }
});
window.addEventListener("mousemove", e => {
  const [x, y] = at(e);
  if (dragging) {
    if (Math.abs(x - dragging.x) + Math.abs(y - dragging.y) > 3) dragging.moved = true;
    if (dragging.range) range[1] = timeAt(x);
    else if (dragging.moved) {
      const t = (dragging.x - x) / (width - left) * (dragging.view.to - dragging.view.from);
      view.from = dragging.view.from + t; view.to = dragging.view.to + t; view.y = dragging.view.y + dragging.y - y;
      clamp();
    }
    $("tip").hidden = true;
    ask();
    return;
  }
  const i = e.target === canvas ? spanAt(x, y) : -1;
  if (i !== hover) { hover = i; ask(); }
  const tip = $("tip");
  tip.hidden = i < 0;
  if (i >= 0) {
    tip.textContent = data.names[N[i]] + (K[i] >= 0 ? " #" + K[i] : "") + "  " + time(D[i]) + "  " + data.processes[P[i]].label;
    tip.style.left = Math.min(x + 12, width - tip.offsetWidth - 4) + "px";
    tip.style.top = Math.min(y + 14, height - 30) + "px";
  }
});
window.addEventListener("mouseup", e => {
  if (!dragging) return;
  const d = dragging; dragging = null;
  if (d.range) { if (!d.moved) range = null; rangeSummary(); ask(); return; }
  if (!d.moved) select(spanAt(d.x, d.y));
});
canvas.addEventListener("dblclick", e => { const i = spanAt(...at(e)); if (i >= 0) { select(i); showSpan(i, true); } });
function reset() { view = { from: 0, to: length, y: 0 }; clamp(); ask(); }
document.addEventListener("keydown", e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.target === $("search")) {
    if (e.key === "Enter") nextHit(e.shiftKey ? -1 : 1);
    if (e.key === "Escape") { $("search").value = ""; search(""); $("search").blur(); }
    return;
  }
  const keys = {
    w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => pan(-0.2), d: () => pan(0.2), 0: reset,
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
    ArrowUp: () => { view.y -= 60; clamp(); ask(); }, ArrowDown: () => { view.y += 60; clamp(); ask(); },
    "/": () => $("search").focus(), Enter: () => nextHit(e.shiftKey ? -1 : 1),
    f: () => selected >= 0 && showSpan(selected, true), p: () => selected >= 0 && U[selected] >= 0 && (select(U[selected]), showSpan(selected)),
    "?": () => $("helpbox").hidden = !$("helpbox").hidden,
    Escape: () => { range = null; rangeSummary(); select(-1); $("helpbox").hidden = true; },
  };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});
$("search").addEventListener("input", e => search(e.target.value));
$("next").onclick = () => nextHit(1); $("prev").onclick = () => nextHit(-1);
$("in").onclick = () => zoom(0.6); $("out").onclick = () => zoom(1 / 0.6); $("all").onclick = reset;
$("help").onclick = () => $("helpbox").hidden = !$("helpbox").hidden;
$("tabnames").onclick = () => tab(true); $("tabsteps").onclick = () => tab(false);
$("facts").textContent = `${count.toLocaleString("en")} spans, ${data.processes.length} ${data.processes.length === 1 ? "process" : "processes"}, ${time(data.length)} from ${data.start}` + (data.note ? "; left out: " + data.note : "");
window.addEventListener("resize", resize);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ask);
resize();
requestAnimationFrame(() => { rangeSummary(); performance.mark("lens-ready"); document.documentElement.dataset.ready = Math.round(performance.now()); });
})();
