"use strict";
// Draws the report, which is the page's own JSON. Times are in picoseconds throughout.
const report = JSON.parse(document.getElementById("report").textContent);
const main = document.querySelector("main");
const escape = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const exact = value => value.toLocaleString("en").replaceAll(",", "\u2009");
const percent = share => (100 * share).toFixed(1) + " %";
const sum = values => values.reduce((a, b) => a + b, 0);

function time(ps) {
  for (const [unit, name] of [[1e12, "s"], [1e9, "ms"], [1e6, "µs"], [1e3, "ns"]])
    if (ps >= unit) return (ps / unit).toPrecision(4) + " " + name;
  return ps + " ps";
}

// What a counter shows, and in full when the pointer rests on it.
function shown(name, value) {
  if (typeof value !== "number") return [escape(value), ""];
  if (name.endsWith("_ps")) return [time(value), exact(value) + " ps"];
  return [Number.isInteger(value) ? exact(value) : value.toPrecision(4), String(value)];
}
// A time beside a count of the same name says so.
function heading(name, all = []) {
  const base = name.replace(/_ps$/, "");
  return escape((base !== name && all.includes(base) ? base + " time" : base).replaceAll("_", " "));
}
const mix = share => `color-mix(in oklab, var(--heat) ${(100 * Math.min(1, Math.max(0, share))).toFixed(1)}%, var(--cold))`;

function add(html) {
  main.insertAdjacentHTML("beforeend", html);
  return main.lastElementChild;
}

// --- what the parts have counted: of the whole run, or of one interval ---

const line = report.timeline ?? { times: [], series: [] };
const begins = line.times.map((_, i) => (i === 0 ? 0 : line.times[i - 1]));
const lengths = line.times.map((end, i) => end - begins[i]);
const series = new Map(line.series.map(s => [`${s.kind}/${s.part}/${s.counter}`, s.values]));
const whole = new Map(report.parts.filter(p => p.kind !== "core").map(p => [`${p.kind}/${p.part}`, p]));
for (const c of report.cores) whole.set(`core/core ${c.core}`, { ...c, part: `core ${c.core}`, kind: "core" });

// interval: -1 for the whole run
function counted(kind, part, counter, interval) {
  if (interval < 0) return whole.get(`${kind}/${part}`)?.[counter] ?? 0;
  return series.get(`${kind}/${part}/${counter}`)?.[interval] ?? 0;
}
const length = interval => (interval < 0 ? report.modelled_ps : lengths[interval]);

// How hot a part is, before it is held against the hottest of its kind; and in words.
function load(kind, part, interval) {
  const of = counter => counted(kind, part, counter, interval);
  if (kind === "core" && interval < 0) return whole.has(`core/${part}`) ? Math.max(0, 1 - of("idle_ps") / length(interval)) : 0;
  if (kind === "cache") return of("misses") / length(interval);
  return of("busy_ps") / length(interval);
}
function inWords(kind, part, interval) {
  if (kind === "cache") return `${exact(counted(kind, part, "misses", interval))} misses`;
  return `${percent(load(kind, part, interval))} busy`;
}
const group = (kind, part) => (kind === "cache" ? part.split(" ")[0] : kind);

// --- the head ---

add(`<h1>${escape(report.machine)}</h1>`);
if (!report.is_complete) add(`<p class="warning"><b>Not complete.</b> The run was ended from outside: what stands here is what had happened until then.</p>`);
const rate = report.accesses / Math.max(report.host_ns, 1) * 1e3;
add(`<div class="figures">${[["modelled time", time(report.modelled_ps), exact(report.modelled_ps) + " ps"],
  ["cycles of core 0's clock", exact(report.cycles), ""], ["accesses", exact(report.accesses), ""],
  ["cores used", exact(report.cores.length), ""],
  ["switches between threads", exact(report.switches), ""],
  ["time of the host", time(report.host_ns * 1000), ""], ["accesses a second of the host", rate.toFixed(1) + " million", ""],
  ["exit code", report.exit_code, ""]]
  .map(([name, value, title]) => `<div title="${title}"><span>${name}</span>${value}</div>`).join("")}</div>`);
add(`<p class="note">All times but the host's are modelled: ${escape(report.machine)} as its machine file describes it. Trace ${escape(report.trace)}.</p>`);
for (const { file, percent: share, functions } of report.without_hooks)
  add(`<p class="warning">${share.toFixed(0)} % of the host's time went to ${escape(file || "code of the program")}, which has no hooks and takes no modelled time: ${functions.map(f => `${escape(f.function)} ${f.percent.toFixed(0)} %`).join(", ")}.</p>`);
if ("stale_reads" in report)
  add(`<p${report.stale_reads + report.lost_writes > 0 ? ' class="warning"' : ""}>Coherence: ${report.stale_reads} stale reads, ${report.lost_writes} lost writes.</p>`);

// --- the machine ---

const shape = report.shape;
function rect(kind, part, x, y, width, height) {
  return `<rect data-kind="${kind}" data-part="${escape(part)}" x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${height}" rx="2"><title></title></rect>`;
}

// Parts of one kind beside each other, in lines of up to 16.
function row(kind, parts, y, label) {
  const lines = Math.ceil(parts.length / 16);
  const each = 92 / Math.min(parts.length, 16);
  const height = lines > 1 ? 9 : 12;
  let html = `<text class="soft label" x="8" y="${y + 9.5}">${label}</text>`;
  parts.forEach((part, i) => (html += rect(kind, part, 38 + (i % 16) * each, y + Math.floor(i / 16) * (height + 2), each - 2, height)));
  return [html, y + lines * (height + 2) + 2];
}

// Whether any part of the kind has done something: a machine without buses has parts of that kind that do nothing.
const counts = kind => report.parts.some(p => p.kind === kind && Object.values(p).some(v => typeof v === "number" && v !== 0));

function box(node) {
  let html = "";
  let at = 22;
  const put = (kind, parts, label) => {
    if (parts.length === 0) return;
    const [more, next] = row(kind, parts, at, label);
    html += more;
    at = next;
  };
  put("core", node.cores ?? [], "cores");
  const levels = [...new Set((node.caches ?? []).filter(c => !c.instructions).map(c => c.level))].sort();
  for (const level of levels) put("cache", node.caches.filter(c => c.level === level && !c.instructions).map(c => c.name), "L" + level);
  if (node.cores && counts("bus")) put("bus", [node.name], "bus");
  put("memory", node.memories ?? [], "mem");
  if (node.cores && counts("adapter")) put("adapter", [node.name], "NA");
  const units = report.parts.filter(p => p.kind === "graph unit" && [node.name, ...(node.memories ?? [])].includes(p.part.split(", ")[1]));
  put("graph unit", units.map(p => p.part), "units");
  const height = Math.max(at + 4, 40);
  return { height, html: `<rect class="tile" width="138" height="${height}" rx="5"/><text x="8" y="15">${escape(node.name)}</text>${html}` };
}

// Each node of the mesh has its tile to the upper left of its router; links run in the streets between tiles.
function drawMachine() {
  const columns = shape.columns || Math.max(1, Math.min(6, Math.ceil(Math.sqrt(shape.nodes.length))));
  const places = shape.nodes.map((node, i) => (shape.columns ? [node.x, node.y] : [i % columns, Math.floor(i / columns)]));
  const rows = Math.max(...places.map(p => p[1])) + 1;
  const boxes = shape.nodes.map(box);
  // A mesh has room for its routers below the tallest tile.
  const tallest = Math.max(...boxes.map(b => b.height));
  const cell = { width: 176, height: tallest + (shape.columns ? 34 : 18) };
  const router = { x: 154, y: tallest + 16 };
  const width = columns * cell.width;
  const height = rows * cell.height;
  let html = "";
  const at = (x, y) => [x * cell.width + router.x, y * cell.height + router.y];
  const steps = { east: [1, 0, 0, -3], west: [-1, 0, 0, 3], north: [0, -1, 3, 0], south: [0, 1, -3, 0] };
  if (shape.columns) {
    for (let y = 0; y < shape.rows; ++y)
      for (let x = 0; x < columns; ++x) {
        const [cx, cy] = at(x, y);
        for (const [name, [dx, dy, ox, oy]] of Object.entries(steps)) {
          if (x + dx < 0 || x + dx >= columns || y + dy < 0 || y + dy >= shape.rows) continue;
          const [tx, ty] = at(x + dx, y + dy);
          html += `<line data-kind="link" data-part="${x},${y} ${name}" x1="${cx + ox + 8 * dx}" y1="${cy + oy + 8 * dy}" x2="${tx + ox - 8 * dx}" y2="${ty + oy - 8 * dy}" stroke-width="4"><title></title></line>`;
        }
        html += `<line data-kind="link" data-part="${x},${y} to tile" x1="${cx - 5}" y1="${cy - 5}" x2="${cx - 15}" y2="${cy - 13}" stroke-width="5"><title></title></line>`;
        html += `<circle class="router" cx="${cx}" cy="${cy}" r="6"/>`;
      }
  }
  boxes.forEach((drawn, i) => (html += `<g transform="translate(${places[i][0] * cell.width + 6},${places[i][1] * cell.height + 6})">${drawn.html}</g>`));
  return `<svg class="grid" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="The machine">${html}</svg>`;
}

const last = lengths.length - 1;
add(`<h2>The machine</h2>`);
add(`<p class="note">The stronger the colour, the busier a part is, held against the busiest of its kind; caches by their misses, against those of their level. Rest on a part for its figures, or click it for all.</p>`);
if (last > 0)
  add(`<p><label><input type="range" min="-1" max="${last}" value="-1"> <output></output></label></p>`);
add(`<div class="legend"><span><i class="scale"></i>none to the busiest of its kind</span></div>`);
const machine = add(`<div class="machine"><div class="drawing">${drawMachine()}</div><div class="details"></div></div>`);
const grid = machine.querySelector("svg");
const details = machine.querySelector(".details");
const slider = main.querySelector("input[type=range]");
let interval = -1;
let chosen = null;

function describe() {
  if (chosen === null) {
    details.innerHTML = `<p class="note">Click a part of the machine: its counters stand here.</p>`;
    return;
  }
  const { kind, part } = chosen;
  const all = whole.get(`${kind}/${part}`);
  const counters = Object.entries(all ?? {}).filter(([name, value]) => !["part", "kind", "core"].includes(name) && value !== 0);
  const rows = counters.map(([name, value]) => {
    const [text, full] = shown(name, value);
    const now = interval >= 0 && series.has(`${kind}/${part}/${name}`) ? shown(name, counted(kind, part, name, interval))[0] : "";
    return `<tr title="${full}"><td>${heading(name, counters.map(c => c[0]))}</td><td>${text}</td>${interval >= 0 ? `<td>${now}</td>` : ""}</tr>`;
  });
  details.innerHTML = `<b>${kind}: ${escape(part)}</b>${rows.length === 0 ? `<p class="note">It has done nothing.</p>` : ""}
    <table>${interval >= 0 ? "<tr><td></td><td>whole run</td><td>interval</td></tr>" : ""}${rows.join("")}</table>`;
}

function colour() {
  const marks = [...grid.querySelectorAll("[data-part]")];
  const hottest = {};
  for (const { dataset: { kind, part } } of marks)
    hottest[group(kind, part)] = Math.max(hottest[group(kind, part)] ?? 0, load(kind, part, interval));
  for (const mark of marks) {
    const { kind, part } = mark.dataset;
    const share = load(kind, part, interval) / (hottest[group(kind, part)] || 1);
    mark.style[mark.tagName === "line" ? "stroke" : "fill"] = mix(share);
    mark.firstElementChild.textContent = `${kind === "link" ? "link " : kind === "bus" || kind === "adapter" ? kind + " of " : ""}${part}: ${inWords(kind, part, interval)}`;
  }
  if (slider) main.querySelector("output").textContent =
    interval < 0 ? "the whole run; move for one interval" : `${time(begins[interval])} to ${time(line.times[interval])}`;
  describe();
}
grid.addEventListener("click", event => {
  const mark = event.target.closest("[data-part]");
  chosen = mark ? mark.dataset : null;
  describe();
});
slider?.addEventListener("input", () => {
  interval = Number(slider.value);
  colour();
});
colour();

// --- time lines ---

const chart = { width: 1100, left: 150, right: 12 };
const across = ps => chart.left + ps / report.modelled_ps * (chart.width - chart.left - chart.right);

function axis(y) {
  let html = "";
  for (let i = 0; i <= 4; ++i) {
    const ps = report.modelled_ps * i / 4;
    html += `<text class="soft" x="${across(ps).toFixed(1)}" y="${y + 14}" text-anchor="${i === 4 ? "end" : i === 0 ? "start" : "middle"}">${time(ps)}</text>`;
  }
  return html;
}
const column = (i, y, height, attributes, title) => `<rect x="${across(begins[i]).toFixed(2)}" y="${y.toFixed(2)}" width="${(across(line.times[i]) - across(begins[i]) + 0.3).toFixed(2)}" height="${height.toFixed(2)}" ${attributes}>${title ? `<title>${title}</title>` : ""}</rect>`;
const svg = (height, html) => `<svg viewBox="0 0 ${chart.width} ${height}" width="${chart.width}" role="img">${html}</svg>`;
const when = i => `${time(begins[i])} to ${time(line.times[i])}`;

// What cores did: computed, waited for the machine, or had nothing to do.
function drawCores() {
  const cores = report.cores.map(c => `core ${c.core}`);
  let html = "";
  lengths.forEach((span, i) => {
    const all = span * cores.length;
    const idle = Math.max(0, all - sum(cores.map(c => counted("core", c, "busy_ps", i))));
    const waits = Math.min(all - idle, sum(cores.map(c => counted("core", c, "to_machine_ps", i) + counted("core", c, "fetch_ps", i))));
    const shares = [["compute", all - idle - waits], ["wait", waits], ["idle", idle]];
    let y = 112;
    for (const [name, ps] of shares) {
      const height = ps / all * 104;
      y -= height;
      html += column(i, y, height, `fill="var(--${name})"`);
    }
    html += column(i, 8, 104, `class="pick"`, `${when(i)}: compute ${percent(shares[0][1] / all)}, wait for the machine ${percent(waits / all)}, idle ${percent(idle / all)}`);
  });
  return svg(132, `<text x="0" y="22">${cores.length} cores</text>${html}${axis(112)}`);
}

// A row a part, the busiest first: how busy it was, interval by interval.
function drawStrips(kind, most) {
  const rows = [...whole.values()].filter(p => p.kind === kind && load(kind, p.part, -1) > 0).map(p => p.part);
  if (kind !== "core") rows.sort((a, b) => load(kind, b, -1) - load(kind, a, -1));
  const left = Math.max(0, rows.length - most);
  rows.length -= left;
  if (rows.length === 0) return "";
  const tall = rows.length > 24 ? 8 : 13;
  let html = "";
  rows.forEach((part, r) => {
    if (tall > 8 || r % 2 === 0) html += `<text x="0" y="${r * tall + 11}" class="${tall > 8 ? "" : "label"}">${escape(part.length > 25 ? part.replace("compute ", "") : part)}</text>`;
    lengths.forEach((_, i) => {
      const share = load(kind, part, i);
      html += column(i, r * tall + 2, tall - 1.5, `style="fill:${mix(share)}"`, `${escape(part)}, ${when(i)}: ${inWords(kind, part, i)}`);
    });
  });
  const height = rows.length * tall + 4;
  return svg(height + 20, html + axis(height)) + (left > 0 ? `<p class="note">And ${left} that were less busy.</p>` : "");
}

// Misses of all caches of a level, an interval a column.
function drawMisses(level, names) {
  const values = lengths.map((_, i) => sum(names.map(name => counted("cache", name, "misses", i))));
  const most = Math.max(...values);
  if (!(most > 0)) return "";
  const rates = values.map((value, i) => value / lengths[i]);
  const top = Math.max(...rates);
  let html = `<text x="0" y="22">L${level} misses</text><text class="soft" x="0" y="38">most: ${(top * 1e6).toPrecision(3)} a µs</text>`;
  values.forEach((value, i) => {
    const height = rates[i] / top * 60;
    html += column(i, 68 - height, height, `fill="var(--compute)"`) + column(i, 8, 60, `class="pick"`, `${when(i)}: ${exact(value)} misses`);
  });
  return svg(88, html + axis(68));
}

if (last > 0) {
  add(`<h2>Over time</h2>`);
  add(`<p class="note">${lengths.length} intervals of ${time(lengths[0])}. Each counter is read when every core has come to the interval's end; a core may then have run ahead by the run's quantum.</p>`);
  add(`<h3>What the cores did</h3>`);
  add(`<div class="legend"><span><i style="background:var(--compute)"></i>compute, and hit the first cache</span><span><i style="background:var(--wait)"></i>wait for the machine, data or code</span><span><i style="background:var(--idle)"></i>idle</span></div>`);
  add(`<div class="chart">${drawCores()}</div>`);
  const caches = shape.nodes.flatMap(node => node.caches ?? []);
  for (const level of [...new Set(caches.map(c => c.level))].sort()) {
    const drawn = drawMisses(level, caches.filter(c => c.level === level).map(c => c.name));
    if (drawn) add(`<div class="chart">${drawn}</div>`);
  }
  for (const [kind, name] of [["core", "Cores"], ["memory-side cache", "Memory-side caches"], ["memory", "Memories"], ["adapter", "Network adapters"], ["link", "Links"], ["graph unit", "Graph units"], ["bus", "Buses"]]) {
    const drawn = drawStrips(kind, kind === "core" ? 64 : 16);
    if (drawn === "") continue;
    add(`<h3>${name}</h3>`);
    add(`<div class="legend"><span><i class="scale"></i>0 to 100 % busy</span></div>`);
    add(`<div class="chart ${kind.replace(" ", "-")}">${drawn}</div>`);
  }
}

// --- tables ---

function table(id, title, note, rows) {
  if (rows.length === 0) return;
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))].filter((name, i) => i === 0 || rows.some(row => row[name] !== undefined && row[name] !== 0));
  add(`<h2>${title}</h2>`);
  if (note) add(`<p class="note">${note}</p>`);
  const cells = row => columns.map(name => {
    if (row[name] === undefined) return `<td></td>`;
    const [text, full] = shown(name, row[name]);
    return `<td title="${escape(full || row[name])}" data-value="${escape(row[name])}">${text}</td>`;
  }).join("");
  const made = add(`<div class="wide"><table id="${id}" class="sorts"><thead><tr>${columns.map(name => `<th>${heading(name, columns)}</th>`).join("")}</tr></thead>
    <tbody>${rows.map(row => `<tr>${cells(row)}</tr>`).join("")}</tbody></table></div>`);
  made.querySelectorAll("th").forEach((th, i) => th.addEventListener("click", () => sort(made, th, i)));
}
function sort(of, th, i) {
  const up = th.getAttribute("aria-sort") === "descending";
  of.querySelectorAll("th").forEach(each => each.removeAttribute("aria-sort"));
  th.setAttribute("aria-sort", up ? "ascending" : "descending");
  const value = tr => tr.children[i].dataset.value ?? "";
  const compare = (a, b) => (isNaN(value(a)) || isNaN(value(b)) ? value(b).localeCompare(value(a), "en", { numeric: true }) : value(b) - value(a));
  const body = of.querySelector("tbody");
  [...body.children].sort((a, b) => (up ? -compare(a, b) : compare(a, b))).forEach(tr => body.append(tr));
}

const busy = (kind, row) => ({ part: row.part, busy: percent(load(kind, row.part, -1)), ...row, kind: undefined });
const ofKind = kind => report.parts.filter(p => p.kind === kind && Object.values(p).some(v => typeof v === "number" && v !== 0));

table("regions", "Regions", "What happened between a region's begin and its end; the programs' own marks (situ/model/region.h).",
  report.regions.map(region => ({ region: region.name, times: region.times, modelled_ps: region.modelled_ps,
    accesses: sum(region.cores.map(c => c.reads + c.writes + c.atomics)), instructions: sum(region.cores.map(c => c.instructions)),
    misses: sum(region.parts.filter(p => p.kind === "cache").map(p => p.misses)), memory_bytes: sum(region.parts.filter(p => p.kind === "memory").map(p => (p.read_bytes ?? 0) + (p.written_bytes ?? 0))) })));
table("cores", "Cores", "Those that made an access. To machine: accesses that the first cache has not answered by itself.",
  report.cores.map(c => ({ core: `core ${c.core}`, busy: percent(load("core", `core ${c.core}`, -1)), ...c, core: `core ${c.core}` })));
table("profile", "Where the modelled time went", "Of all cores, by function: all since the access before counts for the function that makes an access (--profile).", (report.profile ?? []).map(f => ({ function: f.function, time_ps: f.ps, in_machine_ps: f.in_machine_ps, accesses: f.accesses, coherence_misses: f.coherence_misses, upgrades: f.upgrades, branches: f.branches, mispredicted: f.mispredicted })));
table("objects", "Objects", "Blocks by the line of code that allocated them, variables, stacks (--objects). Falsely: coherence misses and upgrades although the cores access different bytes.", report.by_object?.objects ?? []);
table("falsely-shared", "Lines that cores share falsely", "What each core reads and writes of an object on the line; the numbers are bytes of the object.",
  (report.by_object?.falsely_shared ?? []).flatMap(l => l.parts.map((p, i) => ({ line: "0x" + l.line.toString(16), falsely: i === 0 ? l.falsely : undefined,
    coherence_misses: i === 0 ? l.coherence_misses : undefined, upgrades: i === 0 ? l.upgrades : undefined, core: `core ${p.core}`, object: p.object,
    reads: p.read.map(r => r.join("-")).join(", "), writes: p.written.map(r => r.join("-")).join(", ") }))));
const camat = new Map(report.camat.map(c => [c.part, c]));
table("caches", "Caches", "C-AMAT, the average time of an access where accesses overlap. With two parameters: time with an access outstanding, by accesses. With five: H / CH + pMR · pAMP / CM (hit time, hit concurrency, pure miss rate, pure miss penalty, pure miss concurrency).",
  ofKind("cache").map(row => {
    const c = camat.get(row.part) ?? {};
    return { cache: row.part, hits: row.hits, misses: row.misses, miss_rate: row.hits + row.misses ? row.misses / (row.hits + row.misses) : 0,
      "C-AMAT (two)_ps": c.two_parameters_ps, "C-AMAT (five)_ps": c.five_parameters_ps, H_ps: c.hit_time_ps, CH: c.hit_concurrency, pMR: c.pure_miss_rate,
      pAMP_ps: c.pure_miss_penalty_ps, CM: c.pure_miss_concurrency, evictions: row.evictions, write_backs: row.write_backs,
      invalidations: row.invalidations, victim_hits: row.victim_hits, prefetches: row.prefetches, prefetches_useful: row.prefetches_useful, prefetches_late: row.prefetches_late,
      prefetches_useless: row.prefetches_useless, walk_hits: row.walk_hits, walk_misses: row.walk_misses };
  }));
table("tlbs", "TLBs", "Hits and misses of accesses whose page is not that of the access before.",
  ofKind("tlb").map(row => ({ tlb: row.part, ...row, part: undefined, kind: undefined })));
for (const [id, kind, title] of [["buses", "bus", "Buses"], ["adapters", "adapter", "Network adapters"], ["links", "link", "Links"], ["side_caches", "memory-side cache", "Memory-side caches"], ["memories", "memory", "Memories"], ["units", "graph unit", "Graph units"]])
  table(id, title, "", ofKind(kind).map(row => busy(kind, row)));
table("rooms", "Use of memories", "What the program and its places hold of each memory, and what came into it since another one was full.",
  (report.memories?.used ?? []).map(m => ({ memory: m.memory, size_bytes: m.bytes, most_bytes: m.most_bytes, bytes_at_end: m.bytes_at_end,
    spilled_into_it: m.spilled.map(s => `${exact(s.most_bytes)} B of ${s.what} from ${s.from}`).join("; ") || undefined })));

document.title = `${report.machine}: ${time(report.modelled_ps)}`;
document.body.dataset.drawn = "yes";
