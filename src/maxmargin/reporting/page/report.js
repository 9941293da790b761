"use strict";
(function () {
  const read = (id) => JSON.parse((document.getElementById(id) || { textContent: "null" }).textContent);
  const specs = read("specs"), config = read("config"), views = {};
  // The interpreter of expressions keeps the page free of eval, which its policy forbids.
  const options = { renderer: "svg", actions: false, ast: true, config: config, tooltip: { theme: "custom" } };

  function draw(figure) {
    const name = figure.dataset.figure, place = figure.querySelector(".picture");
    return window.vegaEmbed(place, specs[name], options).then((made) => {
      views[name] = made.view;
      const svg = place.querySelector("svg");
      if (svg) { svg.setAttribute("aria-hidden", "true"); }
    }).catch((error) => {
      place.textContent = "This picture could not be drawn: " + error.message;
      console.error(name, error);
    });
  }

  // Buttons move and zoom along the horizontal axis, for readers without a mouse.
  function zoom(name, how) {
    const view = views[name], scale = view.scale("x"), log = scale.type === "log";
    const on = (value) => (log ? Math.log(value) : value), off = (value) => (log ? Math.exp(value) : value);
    const [low, high] = scale.domain().map(on), middle = (low + high) / 2, half = (high - low) / 2;
    const change = { in: [middle - half / 2, middle + half / 2], out: [middle - 2 * half, middle + 2 * half],
      left: [low - half / 2, high - half / 2], right: [low + half / 2, high + half / 2] }[how];
    view.signal("zoom_" + field(name, "x"), change ? change.map(off) : null);
    view.signal("zoom_" + field(name, "y"), change ? view.scale("y").domain() : null);
    view.runAsync();
  }

  function field(name, channel) {
    const spec = specs[name], layer = spec.layer.find((one) => one.params);
    return (layer.encoding || spec.encoding)[channel].field;
  }

  function slide(input, data) {
    const step = Number(input.value), [tp, fp, fn, tn] = data.counts[step], box = input.closest(".slider");
    const show = (cell, value) => { box.querySelector('[data-cell="' + cell + '"]').textContent = value; };
    const share = (part, whole) => (whole ? (100 * part / whole).toFixed(1) + "%" : "–");
    const threshold = String(Number(data.thresholds[step].toPrecision(4)));
    Object.entries({ tp: tp, fp: fp, fn: fn, tn: tn }).forEach(([cell, value]) => show(cell, value.toLocaleString("en")));
    show("threshold", threshold);
    show("rates", "Precision " + share(tp, tp + fp) + ", recall " + share(tp, tp + fn) +
      ", false positives " + share(fp, fp + tn) + ", accuracy " + share(tp + tn, tp + fp + fn + tn) + ".");
    input.setAttribute("aria-valuetext", "threshold " + threshold);
    data.follows.forEach((name) => { if (views[name]) { views[name].signal("step", step).runAsync(); } });
  }

  // A table that scrolls sideways must be reached by the keyboard; others should not be stops on the way.
  function reach(box) {
    const scrolls = box.scrollWidth > box.clientWidth;
    if (!scrolls) { ["tabindex", "role", "aria-label"].forEach((name) => box.removeAttribute(name)); return; }
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", box.querySelector("caption").textContent);
  }

  const tables = Array.from(document.querySelectorAll(".table")), reachAll = () => tables.forEach(reach);
  window.addEventListener("resize", reachAll);
  document.querySelectorAll("details").forEach((one) => one.addEventListener("toggle", reachAll));
  reachAll();
  const figures = Array.from(document.querySelectorAll("figure[data-figure]"));
  const ready = figures.reduce((before, figure) => before.then(() => draw(figure)), Promise.resolve());
  document.querySelectorAll("button[data-zoom]").forEach((button) => button.addEventListener("click", () =>
    zoom(button.closest("figure").dataset.figure, button.dataset.zoom)));
  const input = document.getElementById("threshold"), data = read("thresholds");
  if (input) { input.addEventListener("input", () => slide(input, data)); slide(input, data); }
  ready.then(() => { document.documentElement.dataset.ready = "true"; });
})();
