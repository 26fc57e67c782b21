// One question to the user. Everything that it shows is set as text, never as HTML: it comes from
// a model. The safe button has the focus, so that a stray Enter denies.
function build({ model, el }) {
  const question = model.get("question");
  const make = (tag, text = "", attributes = {}) => {
    const node = Object.assign(document.createElement(tag), { textContent: text });
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    return node;
  };
  const button = (text, act, title = "") => {
    const node = make("button", text, title ? { type: "button", title } : { type: "button" });
    node.addEventListener("click", act);
    return node;
  };
  const say = (kind, more = {}) => model.send({ kind, id: question.id, ...more });

  const root = make("div", "", { class: "agentlab-view agentlab-approval", role: "group" });
  root.setAttribute("aria-label", question.headline);
  root.dataset.lmSuppressShortcuts = "true"; // else JupyterLab takes the keys
  root.append(make("p", question.headline, { class: "agentlab-asked" }));
  root.append(make("pre", question.shown, { tabindex: "0", "aria-label": "The call" }));
  if (question.parts.length > 1) {
    const parts = make("ol", "", { "aria-label": "The parts of the command" });
    for (const part of question.parts) parts.append(make("li", part));
    root.append(parts);
  }
  root.append(make("p", `Why you are asked: ${question.why}.`));
  if (question.cwd) root.append(make("p", `It would run in ${question.cwd}.`));

  const note = make("input", "", { type: "text", placeholder: "optional" });
  const deny = button("Deny", () => say("deny", { note: note.value }));
  const buttons = make("p", "", { class: "agentlab-buttons" });
  const edit = button("Edit…", () => {
    form.hidden = !form.hidden;
    edit.setAttribute("aria-expanded", String(!form.hidden));
    if (!form.hidden) text.focus();
  });
  edit.setAttribute("aria-expanded", "false");
  buttons.append(deny, button("Approve", () => say("approve")), edit);
  if (question.rules.length) {
    const rules = question.rules.join(", ");
    const session = () => say("approve", { remember: "session" });
    const always = () => say("approve", { remember: "always" });
    buttons.append(button("For this session", session, `Allows ${rules} until the session ends`));
    buttons.append(button(`Always: ${rules}`, always, "Saved to the settings of this project"));
  }
  const label = make("label", "Note for the model, if you deny: ");
  label.append(note);
  note.addEventListener("keydown", (event) => {
    if (event.key === "Enter") deny.click();
  });

  const form = make("div", "", { class: "agentlab-edit" });
  const named = make("label", question.plain ? "Run this command instead:" : "Run it with this input instead (JSON):");
  const text = make("textarea", "", { rows: Math.min(12, question.edit.split("\n").length + 1), spellcheck: "false" });
  text.value = question.edit;
  named.append(text);
  const wrong = make("p", "", { role: "alert", class: "agentlab-wrong" });
  form.append(named, button("Approve the changed call", () => say("edit", { text: text.value })), wrong);
  form.hidden = true;
  root.append(buttons, label, form);

  const heard = (message) => {
    if (message.kind === "wrong") wrong.textContent = `Not approved: ${message.text}.`;
  };
  const over = () => {
    if (!model.get("decided")) return;
    for (const node of root.querySelectorAll("button, input, textarea")) node.disabled = true;
    buttons.replaceChildren(make("b", model.get("decided")));
    label.remove();
    form.remove();
  };
  model.on("msg:custom", heard);
  model.on("change:decided", over);
  say("seen");
  over();
  el.append(root);
  const typing = () => document.activeElement?.closest("input, textarea, [contenteditable=true]");
  requestAnimationFrame(() => deny.isConnected && !typing() && deny.focus());
  return () => {
    model.off("msg:custom", heard);
    model.off("change:decided", over);
  };
}

export default { render: build };
