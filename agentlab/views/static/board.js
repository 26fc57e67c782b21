// The live fault board: the rows are made once and then kept up to date, so that nothing that is
// focused goes away. A switch tells Python what it should be; what it is comes back as "shown".
function render({ model, el }) {
  el.innerHTML = `<div class="agentlab-view agentlab-live agentlab-board" data-lm-suppress-shortcuts="true">
    <p class="agentlab-title"><b></b> <span class="agentlab-simulated">simulated model</span></p>
    <table><thead><tr>
      <th class="agentlab-turn" width="18%">Fault</th><th class="agentlab-what" width="34%">What happens</th>
      <th width="22%">Handled in chapter</th><th width="16%">How often</th>
      <th class="agentlab-number" width="10%">Played</th>
    </tr></thead><tbody></tbody></table>
    <p class="agentlab-all"><button type="button">All off</button> <span role="status"></span></p></div>`;
  const root = el.firstElementChild, body = root.querySelector("tbody");
  const status = root.querySelector("[role=status]");
  const first = model.get("shown");
  root.querySelector("b").textContent = first.title;
  root.addEventListener("keydown", (event) => event.stopPropagation()); // the arrows are the select's
  root.querySelector("button").addEventListener("click", () => model.send({ kind: "off" }));

  const rows = first.rows.map(({ name, handled }) => {
    const row = document.createElement("tr");
    row.innerHTML = `<th class="agentlab-turn" scope="row"><label><input type="checkbox" role="switch">
      <span></span></label></th><td class="agentlab-what"></td><td></td><td><select></select></td>
      <td class="agentlab-number"></td>`;
    const [, does, chapter, , played] = row.children;
    const [on, how] = [row.querySelector("input"), row.querySelector("select")];
    row.querySelector("label span").textContent = name;
    chapter.textContent = handled;
    how.setAttribute("aria-label", `How often: ${name}`);
    how.append(...first.how.map((each) => new Option(each)));
    on.addEventListener("change", () => model.send({ kind: "on", name, on: on.checked }));
    how.addEventListener("change", () => model.send({ kind: "how", name, how: how.value }));
    body.append(row);
    return { row, does, on, how, played };
  });
  const update = () => {
    model.get("shown").rows.forEach((now, index) => {
      const { row, does, on, how, played } = rows[index];
      on.checked = now.on;
      on.disabled = how.disabled = !now.ready;
      does.textContent = now.what;
      how.value = now.how;
      played.textContent = now.played;
      row.classList.toggle("agentlab-on", now.on);
    });
    const named = model.get("shown").rows.filter((each) => each.on).map((each) => each.name);
    status.textContent = named.length ? `On: ${named.join(", ")}` : "Everything is off.";
  };
  model.on("change:shown", update);
  update();
  return () => model.off("change:shown", update);
}

export default { render };
