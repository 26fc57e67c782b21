// Hover, keys and clicks on the bars of a view, live or finished: moving over a bar or focusing it
// tells what it was, a click or Enter shows its events as JSON below, Escape closes them, and the
// arrow keys go from bar to bar. `eventOf(number)` gives an event.
function agentlabInteract(root, eventOf) {
  const box = document.createElement("div");
  box.innerHTML = `<p class="agentlab-readout">&nbsp;</p>
    <section class="agentlab-detail" aria-label="Events as JSON" hidden>
    <header><span></span><button type="button">Close (Esc)</button></header>
    <pre tabindex="0"></pre></section>`;
  const [readout, detail] = box.children;
  const json = detail.querySelector("pre");
  root.append(readout, detail);
  const xray = typeof agentlabXray === "function" ? agentlabXray(root) : null; // of the context
  root.classList.add("agentlab-active");
  root.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes the keys
  let current = null; // the bar that Tab comes to
  let opened = null; // the bar whose events are shown

  const bars = (part) => (part ? [...part.querySelectorAll(".agentlab-bar")] : []);
  const barOf = (event) => event.target.closest?.(".agentlab-bar");
  const choose = (bar) => {
    if (current) current.tabIndex = -1;
    current = bar;
    if (bar) bar.tabIndex = 0;
  };
  const open = (bar) => {
    opened?.removeAttribute("aria-expanded");
    opened = bar;
    bar.setAttribute("aria-expanded", "true");
    const pieces = (bar.dataset.e ? bar.dataset.e.split(",") : []).map(eventOf);
    json.textContent = (bar.dataset.whole ? [request(pieces, bar.dataset.whole)] : pieces)
      .map((piece) => JSON.stringify(piece, null, 2)).join("\n\n")
      || "This is still going on; its event comes when it is done.";
    detail.querySelector("span").textContent = bar.getAttribute("aria-label");
    detail.hidden = !(readout.hidden = true);
  };
  // A request from its prompt and messages; "place:count:before" says what is left out.
  const request = ([prompt, ...messages], whole) => {
    const [place, count, before] = whole.split(":").map(Number);
    if (count) messages.splice(place, 0, `… (${count} more messages)`);
    if (before) messages.unshift(`… (${before} messages that no event tells of)`);
    return { ...prompt, messages };
  };
  const close = () => {
    opened.removeAttribute("aria-expanded");
    opened.focus({ preventScroll: true });
    opened = null;
    detail.hidden = !(readout.hidden = false);
  };
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const next = (bar, [down, right]) => {
    const all = bars(root);
    if (right) return all[all.indexOf(bar) + right];
    const place = bars(bar.closest("tr")).indexOf(bar);
    let row = bar.closest("tr");
    do row = down > 0 ? row.nextElementSibling : row.previousElementSibling;
    while (row && !bars(row).length);
    return bars(row)[Math.min(place, bars(row).length - 1)];
  };
  const tell = (event) => {
    const bar = barOf(event) ?? root.querySelector(".agentlab-bar:focus");
    readout.textContent = bar ? bar.getAttribute("aria-label") : "\u00a0";
  };
  // A call and its result light up together.
  let lit = null;
  const light = (event) => {
    const pair = event.type === "mouseleave" ? null : event.target.closest?.("[data-pair]");
    if ((pair?.dataset.pair ?? null) === lit) return;
    lit = pair?.dataset.pair ?? null;
    for (const block of root.querySelectorAll("[data-pair]")) {
      block.classList.toggle("agentlab-lit", block.dataset.pair === lit);
    }
  };
  for (const name of ["mouseover", "mouseleave", "focusin"]) {
    root.addEventListener(name, tell);
    root.addEventListener(name, light);
  }
  root.addEventListener("click", (event) => {
    const bar = barOf(event);
    if (bar) choose(bar), bar.focus({ preventScroll: true }), open(bar);
    else if (opened && event.target.closest("button")) close();
  });
  // Up and down also go from line to line of what can be unfolded.
  const line = (event) => {
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!down || event.target.tagName !== "SUMMARY") return false;
    const lines = [...root.querySelectorAll("summary")].filter((each) => each.checkVisibility());
    lines[lines.indexOf(event.target) + down]?.focus();
    return true;
  };
  root.addEventListener("keydown", (event) => {
    const bar = barOf(event);
    const to = bar && moves[event.key] && next(bar, moves[event.key]);
    if (event.key === "Escape" && opened) close();
    else if (to) choose(to), to.focus(), opened && open(to);
    else if (bar && (event.key === "Enter" || event.key === " ")) open(bar);
    else if (!(bar && moves[event.key]) && !line(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    // Puts a newly drawn row in the place of the old one; what was focused and opened stays so.
    replace(old, row, put) {
      const before = bars(old), now = bars(row);
      const same = (bar) => now[before.indexOf(bar)];
      const [focused, chosen, shown] = [document.activeElement, current, opened].map(same);
      const unfolded = [...(old?.querySelectorAll("details") ?? [])].map((each) => each.open);
      const line = [...(old?.querySelectorAll("summary") ?? [])].indexOf(document.activeElement);
      put();
      row.querySelectorAll("details").forEach((each, at) => (each.open = unfolded[at] ?? each.open));
      if (line >= 0) row.querySelectorAll("summary")[line]?.focus({ preventScroll: true });
      if (chosen) choose(chosen);
      if (!current?.isConnected) choose(bars(root)[0]);
      if (focused) focused.focus({ preventScroll: true });
      if (shown) open(shown);
      xray?.refresh();
    },
    // Makes the bars of a finished page reachable.
    adopt() {
      for (const bar of bars(root)) {
        bar.setAttribute("role", "button");
        bar.setAttribute("aria-label", bar.title);
        bar.removeAttribute("title");
        bar.tabIndex = -1;
      }
      choose(bars(root)[0]);
    },
  };
}
