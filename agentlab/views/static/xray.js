// Goes through a run step by step: a slider, and below it what the window held at that step, block
// by block. The rows carry what is needed (data-x, see xray.py): each block once, and for each
// request what a token cost. While nobody moves the slider, it stays at the last step.
function agentlabXray(root) {
  const ROUNDING = 4; // tokens that are not told apart from none
  const LISTED = 400; // blocks: more of them are not drawn one by one
  const section = document.createElement("section");
  section.className = "agentlab-xray";
  section.innerHTML = `<label>Step <input type="range" min="1" max="1" value="1"
    data-lm-suppress-shortcuts="true"></label><div class="agentlab-told"><output></output><span></span></div>
    <div class="agentlab-gauge" role="img"></div><p class="agentlab-legend"></p>
    <div class="agentlab-list" role="region" aria-label="Blocks at this step" tabindex="0">
    <table><thead><tr></tr></thead><tbody></tbody></table></div>`;
  const scroll = root.querySelector(":scope > .agentlab-scroll");
  const rows = (scroll ?? root).querySelector("tbody");
  (scroll ?? rows.closest("table")).before(section);
  const slider = section.querySelector("input"), [told, room] = section.querySelector(".agentlab-told").children;
  const [gauge, legend, list] = section.querySelectorAll(".agentlab-gauge, .agentlab-legend, .agentlab-list");
  const [top] = section.getElementsByTagName("tr"), [body] = section.getElementsByTagName("tbody");
  let follow = true, shown = null, waiting = 0;

  const make = (tag, name, text = "", style = "") => {
    const made = document.createElement(tag);
    made.className = `agentlab-${name}`;
    made.textContent = text;
    made.style.cssText = style;
    return made;
  };
  const heads = { name: "Block", place: "Place in the window", number: "Tokens", state: "Cache", paid: "Cost so far" };
  for (const [name, text] of Object.entries(heads)) top.append(make("th", name, text));
  const tokens = (count) => Math.trunc(count + 1e-6).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
  const dollars = (sum) => (sum > 0 && sum < 0.0001 ? "<$0.0001" : `$${sum.toFixed(sum >= 1 ? 2 : 4)}`);
  const swatch = (fill) => make("span", "swatch", "", `display:inline-block;background:${fill}`);

  // The steps with their rows; what a row carries is read once.
  const read = new WeakMap();
  const steps = () => [...rows.querySelectorAll(":scope > tr[data-x]")].flatMap((row) => {
    if (!read.has(row)) read.set(row, JSON.parse(row.dataset.x).map((step) => ({ ...step, row })));
    return read.get(row);
  });

  // Takes one step further what each agent sends, and what each of its blocks has cost.
  const advance = (agents, step) => {
    const mine = (agents[step.agent] ??= { blocks: new Map(), paid: new Map(), list: [], priced: false });
    const blockOf = (entry) => {
      if (!Array.isArray(entry)) return mine.blocks.get(entry);
      const [number, name, fill, gist, size, first, note] = entry;
      mine.blocks.set(number, { number, name, fill, gist, size, first, note });
      return mine.blocks.get(number);
    };
    mine.list = mine.list.slice(0, step.carried).concat(step.blocks.map(blockOf).filter(Boolean));
    if (step.gone) {
      mine.gone = new Map(step.gone.map(([number, left]) => [mine.blocks.get(number), left]));
      return;
    }
    mine.last = step;
    if (!step.rates.length) return;
    mine.priced = true;
    let start = 0;
    mine.list.forEach((block, index) => {
      const size = sizeOf(block, index, step), cached = hit(step, start, size);
      const cost = cached * step.rates[0] + (size - cached) * step.rates[1];
      mine.paid.set(block.number, (mine.paid.get(block.number) ?? 0) + cost);
      start += size;
    });
  };
  const ignores = (step, index) => index >= step.ignored[0] && index < step.ignored[1];
  const sizeOf = (block, index, step) =>
    ignores(step, index) ? 0 : block.size === null ? step.left : block.size * step.scale;
  const hit = (step, start, size) => Math.min(Math.max(step.cached - start, 0), size);

  // Plays the steps up to one. What was played before is gone on from, but for the last steps,
  // which may still be drawn anew.
  let past = { steps: [], agents: {} };
  const play = (all) => {
    const firm = Math.max(0, all.length - 3);
    if (past.steps.length > firm || past.steps.some((step, at) => step !== all[at])) past = { steps: [], agents: {} };
    for (const step of all.slice(past.steps.length, firm)) {
      advance(past.agents, step);
      past.steps.push(step);
    }
    const copy = ([name, mine]) => [name, { ...mine, blocks: new Map(mine.blocks), paid: new Map(mine.paid) }];
    const agents = Object.fromEntries(Object.entries(past.agents).map(copy));
    for (const step of all.slice(firm)) advance(agents, step);
    const mine = agents[all.at(-1).agent];
    return { ...mine, slices: slicesOf(mine), cost: (block) => mine.paid.get(block.number) ?? 0 };
  };
  const slicesOf = ({ list, last = { scale: 1, cached: 0, ignored: [0, 0] } }) => {
    let start = 0;
    return list.map((block, index) => {
      const size = sizeOf(block, index, last), ignored = ignores(last, index);
      const made = { block, size, start, end: start + size, cached: hit(last, start, size), ignored };
      start = made.end;
      return made;
    });
  };
  // What happened to a block: in a request by the cache, else by the compaction.
  const stateOf = ({ block, size, cached, ignored }, step, gone) => {
    if (step.gone) return gone.has(block) ? (gone.get(block) ? `${tokens(gone.get(block))} left` : "dropped") : "kept";
    if (ignored) return "ignored";
    if (step.cached < 0 || !size) return "";
    if (cached > 0 && size - cached <= ROUNDING) return "cached";
    if (cached > ROUNDING) return `${((100 * cached) / size).toFixed(0)}\u202f% cached`;
    return block.first >= step.number ? "new" : "not cached";
  };

  const show = () => {
    const all = steps().slice(0, slider.value), step = all.at(-1);
    if (!step) return;
    shown?.classList.remove("agentlab-shown");
    shown = step.row;
    if (!follow) shown.classList.add("agentlab-shown");
    const played = play(all), { slices } = played;
    told.textContent = step.title;
    slider.setAttribute("aria-valuetext", step.title.split(":")[0]);
    const whole = slices.at(-1)?.end || 1;
    drawGauge(step, played, whole);
    drawLegend(played, whole);
    drawList(step, played, whole);
  };
  const drawGauge = (step, { slices, gone }, whole) => {
    const wide = Math.max(step.window, whole), share = (part) => `${((100 * part) / wide).toFixed(3)}%`;
    const faded = (block) => (step.gone && gone.has(block) ? "opacity:0.3;" : "");
    const pieces = slices.length > LISTED ? byKind(slices) : slices;
    gauge.replaceChildren(...pieces.filter(({ size }) => size).map(({ block, start, size }) =>
      make("span", "piece", "", `${faded(block)}left:${share(start)};width:${share(size)};background:${block.fill}`)));
    if (step.trigger) gauge.append(make("span", "due", "", `left:${share(Math.min(wide, step.trigger))}`));
    const percent = (100 * whole) / wide, due = step.trigger ? `, compaction is due at ${tokens(step.trigger)}` : "";
    const words = `${percent < 9.95 ? percent.toFixed(1) : percent.toFixed(0)}\u202f% of ${tokens(step.window)}${due}`;
    room.textContent = gauge.ariaLabel = step.window ? words : "the size of the window is not known";
  };
  // One piece for each kind, where there are too many blocks to tell them apart.
  const byKind = (slices) => {
    const sums = new Map();
    for (const { block, size } of slices) sums.set(block.name, { block, size: (sums.get(block.name)?.size ?? 0) + size });
    let start = 0;
    return [...sums.values()].map((sum) => ({ ...sum, start: (start += sum.size) - sum.size }));
  };
  const drawLegend = ({ slices, blocks, cost, priced }, whole) => {
    const kinds = new Map();
    for (const { block, size } of slices) {
      const kind = kinds.get(block.name) ?? { fill: block.fill, size: 0, paid: 0 };
      kinds.set(block.name, { ...kind, size: kind.size + size });
    }
    for (const block of blocks.values()) if (kinds.has(block.name)) kinds.get(block.name).paid += cost(block);
    legend.replaceChildren(...[...kinds].filter(([, { size }]) => size).flatMap(([name, { fill, size, paid }]) => {
      const said = make("span", "kind"), cost = priced ? `, ${dollars(paid)}` : "";
      const number = make("b", "count", `${tokens(size)} (${((100 * size) / whole).toFixed(0)}\u202f%)${cost}`);
      said.append(swatch(fill), ` ${name} `, number);
      return [said, " \u2002"];
    }));
  };
  const drawList = (step, { slices, blocks, gone, cost, priced }, whole) => {
    const share = (part) => `${((100 * part) / whole).toFixed(2)}%`;
    const hit = `--cached:${share(Math.max(0, step.cached ?? 0))}`;
    const lines = slices.slice(-LISTED).map((each) => {
      const { block, size, start, ignored } = each, line = make("tr", "block");
      const name = make("td", "name"), place = make("td", "place", "", hit);
      name.append(swatch(block.fill), make("span", "kind", block.name));
      name.append(make("i", "note", block.note && `(${block.note})`), ` ${block.gist}`);
      name.title = name.textContent;
      if (size) place.append(make("span", "piece", "", `left:${share(start)};width:${share(size)};background:${block.fill}`));
      const state = stateOf(each, step, gone);
      line.classList.toggle("agentlab-faded", !!ignored || state === "dropped");
      line.dataset.state = state;
      line.append(name, place, make("td", "number", ignored ? "" : tokens(size)),
        make("td", "state", state), make("td", "paid", priced ? dollars(cost(block)) : ""));
      return line;
    });
    if (slices.length > LISTED) {
      const line = make("tr", "block"), earlier = slices.slice(0, -LISTED);
      const sum = earlier.reduce((paid, { block }) => paid + cost(block), 0);
      line.append(make("td", "name", `… ${earlier.length} earlier blocks`), make("td", "place"),
        make("td", "number", tokens(earlier.at(-1).end)), make("td", "state"), make("td", "paid", priced ? dollars(sum) : ""));
      lines.unshift(line);
    }
    const there = new Set(slices.map(({ block }) => block)), lost = [...blocks.values()].filter((each) => !there.has(each));
    if (lost.length) {
      const line = make("tr", "block"), sum = lost.reduce((paid, block) => paid + cost(block), 0);
      line.append(make("td", "name", `no longer in the window: ${lost.length} block${lost.length > 1 ? "s" : ""}`),
        make("td", "place"), make("td", "number"), make("td", "state"), make("td", "paid", priced ? dollars(sum) : ""));
      lines.push(line);
    }
    top.querySelector(".agentlab-state").textContent = step.gone ? "Now" : heads.state;
    body.replaceChildren(...lines);
    const fresh = body.querySelector(step.gone ? "[data-state=dropped]" : "[data-state=new]");
    list.scrollTop = fresh ? fresh.offsetTop - 3 * fresh.offsetHeight : list.scrollHeight;
  };

  const refresh = () => {
    const soon = Number(slider.max) > 100 ? (draw) => setTimeout(draw, 300) : requestAnimationFrame;
    waiting ||= soon(() => {
      waiting = 0;
      const count = steps().length;
      slider.max = Math.max(1, count);
      section.hidden = !count;
      if (follow) slider.value = count;
      show();
    });
  };
  const go = (to) => {
    slider.value = to;
    follow = Number(slider.value) === Number(slider.max);
    show();
    if (scroll && shown) {
      const [box, row] = [scroll.getBoundingClientRect(), shown.getBoundingClientRect()];
      if (row.top < box.top + 40 || row.bottom > box.bottom) scroll.scrollTop += row.top - box.top - 60;
    }
  };
  slider.addEventListener("input", () => go(slider.value));
  rows.addEventListener("click", (event) => {
    const at = steps().findLastIndex(({ row }) => row === event.target.closest?.("tr"));
    if (at >= 0) go(at + 1);
  });
  refresh();
  return { refresh };
}
