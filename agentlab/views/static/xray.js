// Goes through a run step by step: a slider, and below it what the window held at that step. The
// numbers stand in the rows (data-x). While nobody moves it, it stays at the last step.
function agentlabXray(root) {
  const section = document.createElement("section");
  section.className = "agentlab-xray";
  section.innerHTML = `<label>Step <input type="range" min="1" max="1" value="1"
    data-lm-suppress-shortcuts="true"></label>
    <output></output><table><thead><tr></tr></thead><tbody></tbody></table>`;
  const scroll = root.querySelector(":scope > .agentlab-scroll");
  const list = (scroll ?? root).querySelector("tbody");
  (scroll ?? list.closest("table")).before(section);
  const slider = section.querySelector("input"), told = section.querySelector("output");
  const [top] = section.getElementsByTagName("tr"), [body] = section.getElementsByTagName("tbody");
  const cell = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.className = `agentlab-${kind}`;
    made.textContent = text;
    return made;
  };
  const kinds = ["what", "number", "number", "number", "what"];
  top.append(...["Part", "Tokens", "Cached", "Paid so far", ""].map((each, at) => cell("th", each, kinds[at])));
  let follow = true, shown = null, waiting = 0;

  const show = () => {
    const row = steps()[slider.value - 1];
    if (!row) return;
    shown?.classList.remove("agentlab-shown");
    shown = row;
    if (!follow) row.classList.add("agentlab-shown");
    const [title, parts] = JSON.parse(row.dataset.x);
    told.textContent = title;
    body.replaceChildren(...parts.map(([colour, ...words]) => {
      const line = document.createElement("tr");
      line.append(...words.map((each, at) => cell("td", each, kinds[at])));
      const square = document.createElement("span");
      square.className = "agentlab-swatch";
      square.style.cssText = `display:inline-block;background:${colour}`;
      line.firstChild.prepend(square, " ");
      return line;
    }));
  };
  const steps = () => list.querySelectorAll(":scope > tr[data-x]");
  const refresh = () => {
    waiting ||= requestAnimationFrame(() => {
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
  list.addEventListener("click", (event) => {
    const at = [...steps()].indexOf(event.target.closest?.("tr"));
    if (at >= 0) go(at + 1);
  });
  refresh();
  return { refresh };
}
