// The live form of a view. Python draws the parts (drawing.py); this puts them in place, in
// batches. There is one state a model, however many views of it are open.

const MS_A_FRAME = 8; // of drawing rows; laying them out takes about as long again

// What has arrived so far: parts by name, rows and events by number. A gap in the messages, or a
// view that opens late, asks Python for everything ("ready"); the snapshot is everything, at the end.
function collect(model) {
  const state = { seq: 0, parts: {}, rows: [], events: {}, views: new Set() };
  const take = (patch) => {
    if (patch.whole ? patch.seq < state.seq : patch.seq <= state.seq) return;
    if (patch.whole) Object.assign(state, { rows: [], events: {} });
    else if (patch.seq !== state.seq + 1) return void model.send({ kind: "ready" });
    state.seq = patch.seq;
    Object.assign(state.parts, patch.parts);
    Object.assign(state.events, patch.events);
    for (const [index, html] of Object.entries(patch.rows)) state.rows[index] = html;
    for (const schedule of state.views) schedule(Object.keys(patch.rows));
  };
  const snapshot = () => {
    const whole = model.get("snapshot");
    if (whole?.rows) take(whole);
  };
  model.on("msg:custom", (message) => message.kind === "patch" && take(message));
  model.on("change:snapshot", snapshot);
  snapshot();
  if (!state.seq) model.send({ kind: "ready" });
  return state;
}

function render({ model, el }, state) {
  el.innerHTML = `<div class="agentlab-view agentlab-live agentlab-${model.get("name")}">
    <div class="agentlab-top"></div>
    <div class="agentlab-scroll"><table><thead></thead><tbody></tbody></table></div>
    <div class="agentlab-bottom"></div></div>`;
  const root = el.firstElementChild;
  const [top, scroll, bottom] = root.children;
  const [head] = root.getElementsByTagName("thead"), [body] = root.getElementsByTagName("tbody");
  const interaction = agentlabInteract(root, (number) => state.events[number]);
  const box = document.createElement("template");
  const drawn = []; // the rows in the page (the table's own list of them is slow while it grows)
  const stale = new Set();
  let waiting = 0;

  // A few milliseconds of rows a frame, so that nothing stalls.
  const paint = () => {
    waiting = 0;
    const { parts, rows } = state;
    const atEnd = scroll.scrollTop + scroll.clientHeight >= scroll.scrollHeight - 4;
    for (const [name, value] of [["--span", parts.span], ["--grid", parts.grid || "200%"]]) {
      if (root.style.getPropertyValue(name) !== String(value)) root.style.setProperty(name, value);
    }
    for (const [part, html] of [[top, parts.head], [head, parts.heading], [bottom, parts.foot]]) {
      if (part.shown !== html) part.innerHTML = part.shown = html;
    }
    const widths = [...head.querySelectorAll("th")].map((each) => `minmax(0, ${parseFloat(each.width)}fr)`);
    root.style.setProperty("--columns", widths.join(" "));
    const until = performance.now() + MS_A_FRAME;
    for (const index of [...stale].sort((a, b) => a - b)) {
      stale.delete(index);
      box.innerHTML = rows[index];
      const row = box.content.firstElementChild, old = drawn[index];
      interaction.replace(old, row, () => (old ? old.replaceWith(row) : body.append(row)));
      drawn[index] = row;
      if (performance.now() > until) break;
    }
    if (parts.running && atEnd && !root.contains(document.activeElement)) {
      scroll.scrollTop = scroll.scrollHeight;
    }
    if (stale.size) schedule([]);
  };
  const schedule = (indices) => {
    for (const index of indices) stale.add(Number(index));
    waiting ||= requestAnimationFrame(paint);
  };
  state.views.add(schedule);
  if (state.seq) schedule(state.rows.keys());
  return () => {
    state.views.delete(schedule);
    cancelAnimationFrame(waiting);
  };
}

export default () => {
  let state = null;
  return {
    initialize({ model }) {
      state = collect(model);
    },
    render(context) {
      state ??= collect(context.model);
      return render(context, state);
    },
  };
};
