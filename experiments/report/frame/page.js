"use strict";
// What a page does in a browser: dark mode, the present section in the navigation, interactive figures, toggles, downloads.
(() => {
  const root = document.documentElement;
  const all = (query, part = document) => [...part.querySelectorAll(query)];
  const made = (tag, attributes = {}, ...inside) => {
    const part = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
    part.append(...inside);
    return part;
  };
  root.classList.add("scripted");

  // Dark mode: as the system asks, until the button says otherwise.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const button = document.getElementById("theme");
  const themed = () => {
    button.setAttribute("aria-pressed", dark());
    redraw();
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    themed();
  });
  system.addEventListener("change", themed);

  // Navigation: marks the section that is read.
  const links = new Map(all("nav a").map(link => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const link = links.get(entry.target.id);
      if (!entry.isIntersecting) continue;
      for (const other of links.values()) other.removeAttribute("aria-current");
      const bar = document.querySelector(".links");
      if (!link) {
        bar.scrollLeft = 0;
        continue;
      }
      link.setAttribute("aria-current", "true");
      bar.scrollLeft = link.offsetLeft - bar.offsetLeft - (bar.clientWidth - link.offsetWidth) / 2;
    }
  }, {rootMargin: "-20% 0px -75% 0px"});
  seen.observe(document.querySelector("header"));
  for (const anchor of links.keys()) if (document.getElementById(anchor)) seen.observe(document.getElementById(anchor));

  // Figures: packed data, and the library, which is unpacked with the first figure that comes into view.
  const unpacked = id => {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), letter => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const drawn = new Map();                       // place of a figure -> its parts
  let contents = null, loading = null, pick = "";
  const ready = () => loading ||= (async () => {
    document.head.append(made("script", {}, await unpacked("library")));
  })();

  const colour = text => {
    const own = text.includes("|") ? text.split("|")[dark() ? 1 : 0] : text;
    return own.startsWith("--") ? getComputedStyle(root).getPropertyValue(own).trim() : own;
  };
  const coloured = given => typeof given === "string" ? (/^(--|#\w+\|#)/.test(given) ? colour(given) : given)
    : Array.isArray(given) ? (typeof given[0] === "number" && typeof given[1] !== "string" ? given : given.map(coloured))
    : given && typeof given === "object" ? Object.fromEntries(Object.entries(given).map(([key, value]) => [key, coloured(value)]))
    : given;
  const value = (column, row) => row === null ? null : column.texts ? column.texts[column.of[row]] : column[row];
  const put = (object, path, given) => {
    const [first, ...rest] = path.split(".");
    if (rest.length) put(object[first] ||= {}, rest.join("."), given);
    else object[first] = given;
  };
  const chosen = (table, name, group) => !table.off?.has(`${name} ${group}`);
  const rows = table => {
    const first = Object.values(table.columns)[0], count = first ? (first.of || first).length : 0;
    const toggles = Object.entries(table.toggles);
    return [...Array(count).keys()].filter(row => toggles.every(([name, one]) => chosen(table, name, one.of[row])));
  };
  const trace = (table, given, kept) => {
    const {columns = {}, hover = [], at, only = {}, picked, breaks, ...own} = given, out = coloured(own);
    for (const [name, text] of Object.entries(only)) kept = kept.filter(row => value(table.columns[name], row) === text);
    if (picked) kept = kept.filter(row => value(table.columns[picked], row) === pick);
    if (breaks) kept = kept.flatMap((row, k) => k && value(table.columns[breaks], row) !== value(table.columns[breaks], kept[k - 1])
                                    ? [null, row] : [row]);
    for (const [path, name] of Object.entries(columns)) put(out, path, kept.map(row => value(table.columns[name], row)));
    if (hover.length) out.customdata = kept.map(row => hover.map(name => value(table.columns[name], row)));
    if (at) out.visible = chosen(table, ...at);
    return out;
  };
  const layout = (given, height) => {
    const [ink, muted, faint, grid, paper] = ["--ink", "--muted", "--faint", "--grid", "--paper"].map(colour);
    const axis = {gridcolor: grid, linecolor: faint, tickcolor: faint, ticks: "outside", ticklen: 3, showline: true, zeroline: false,
                  automargin: true, tickfont: {color: muted}};
    const out = {height, margin: {l: 44, r: 8, t: 48, b: 36}, showlegend: false, hovermode: "closest", paper_bgcolor: paper,
                 plot_bgcolor: paper, font: {family: getComputedStyle(document.body).fontFamily, size: 12, color: ink},
                 hoverlabel: {bgcolor: paper, bordercolor: faint, align: "left", font: {color: ink}}, uirevision: "same",
                 modebar: {bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: ink},
                 dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom", ...coloured(given)};
    for (const key of Object.keys(out).filter(key => /^[xy]axis/.test(key)))
      out[key] = {...axis, ...out[key], title: {standoff: 6, ...out[key].title, font: {color: muted, size: 12}}};
    for (const note of out.annotations || []) note.font ||= {color: muted, size: 12};
    return out;
  };
  const draw = async place => {
    const {figure, live} = drawn.get(place), table = contents.tables[figure.table], kept = rows(table);
    await Plotly.react(live, figure.data.map(given => trace(table, given, kept)), layout(figure.layout, figure.height),
                       {responsive: true, displaylogo: false, scrollZoom: false, displayModeBar: true, showSendToCloud: false,
                        typesetMath: false, plotlyServerURL: "", modeBarButtons: [["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]]});
  };
  const redraw = (name = null) => {
    for (const [place, {figure}] of drawn) if (name === null || figure.table === name) draw(place);
  };
  const begin = async box => {
    await ready();
    const place = box.dataset.figure, figure = contents.figures[place], label = box.dataset.label;
    const live = made("div", {class: "live", role: "group", "aria-label": label, style: `height:${figure.height}px`});
    const save = made("button", {type: "button", class: "save", "aria-label": `Save as SVG: ${label}`}, "SVG");
    save.addEventListener("click", () => Plotly.downloadImage(live, {format: "svg", filename: place, width: live.clientWidth,
                                                                    height: figure.height}));
    box.append(live, save);
    drawn.set(place, {figure, live});
    await draw(place);
    box.classList.add("drawn");
  };

  // Toggles: one box for each group of points, for all figures of their table.
  const offer = part => {
    const name = part.dataset.table, table = contents.tables[name];
    table.off = new Set();
    for (const [key, {title, groups}] of Object.entries(table.toggles)) {
      if (groups.length < 2) continue;
      const field = made("fieldset", {}, made("legend", {}, title));
      const boxes = groups.map((group, k) => {
        const box = made("input", {type: "checkbox", checked: ""});
        box.addEventListener("change", () => {
          table.off[box.checked ? "delete" : "add"](`${key} ${k}`);
          redraw(name);
        });
        field.append(made("label", {}, box, group));
        return box;
      });
      if (groups.length > 3) {
        const every = made("button", {type: "button", "aria-label": `Show all: ${title}`}, "all");
        const none = made("button", {type: "button", "aria-label": `Show none: ${title}`}, "none");
        for (const [one, on] of [[every, true], [none, false]]) one.addEventListener("click", () => {
          boxes.forEach((box, k) => { box.checked = on; table.off[on ? "delete" : "add"](`${key} ${k}`); });
          redraw(name);
        });
        field.append(every, none);
      }
      part.append(field);
    }
    part.hidden = !part.childElementCount;
  };

  // A reader may pick an arm, which figures ring.
  for (const list of all("[data-pick]")) list.addEventListener("change", () => {
    pick = list.value;
    redraw();
  });

  // Downloads: points of all tables, and further files.
  const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const points = () => {
    const lines = [];
    for (const {columns, saved} of Object.values(contents.tables)) {
      if (!saved.length) continue;
      lines.length || lines.push(saved.join(","));
      const first = columns[saved[0]], count = (first.of || first).length;
      for (let row = 0; row < count; row++) lines.push(saved.map(name => quoted(String(value(columns[name], row) ?? ""))).join(","));
    }
    return lines.join("\n") + "\n";
  };
  for (const one of all("button[data-save]")) one.addEventListener("click", () => {
    const name = one.dataset.save;
    const link = made("a", {download: name, href: URL.createObjectURL(new Blob([contents.downloads[name] ?? points()]))});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  const start = async () => {
    if (document.getElementById("contents")) {
      contents = JSON.parse(await unpacked("contents"));
      for (const {columns} of Object.values(contents.tables))         // a column may be the name of an equal one
        for (const [name, own] of Object.entries(columns)) if (typeof own === "string") columns[name] = columns[own];
      all("[data-table]").forEach(offer);
      const view = new IntersectionObserver(entries => {
        for (const entry of entries) if (entry.isIntersecting) {
          view.unobserve(entry.target);
          begin(entry.target);
        }
      }, {rootMargin: "600px 0px"});
      all("[data-figure]").filter(box => contents.figures[box.dataset.figure]).forEach(box => view.observe(box));
    }
    themed();
  };
  if (typeof DecompressionStream === "undefined") return;     // an old browser: the still figures stay
  root.classList.add("drawing");
  start();
})();
