// Keys: / search, j k move, Enter open, e edit, a approve, r reject, ? help, and in the review the letters of the buttons.
const items = () => [...document.querySelectorAll("[data-item]")];
const current = () => document.querySelector("[data-item][data-now]");
const help = document.getElementById("help");

function choose(item) {
  current()?.removeAttribute("data-now");
  if (!item) return;
  item.setAttribute("data-now", "");
  item.scrollIntoView({ block: "nearest" });
  const first = item.querySelector("[data-open]") ?? item;
  if (first === item && !item.hasAttribute("tabindex")) item.setAttribute("tabindex", "-1");
  first.focus({ preventScroll: true });
}

function move(by) {
  const all = items();
  const at = all.indexOf(current());
  if (all.length) choose(all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)]);
}

// The reason comes first: the key of a button opens its field, Enter there presses that button.
function decide(card, button) {
  const reason = card.querySelector("[data-reason]");
  card.querySelectorAll("[data-pending]").forEach((one) => one.removeAttribute("data-pending"));
  button.setAttribute("data-pending", "");
  const words = button.closest("[data-words]");
  if (words) {
    words.open = true;
    words.querySelector("textarea").focus();
  } else {
    reason.focus();
  }
}

function act(key, item) {
  if (item.hasAttribute("data-card")) {
    const button = item.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (button) decide(item, button);
    return Boolean(button);
  }
  const way = { e: "edit", a: "approve", r: "reject" }[key];
  const address = way && item.dataset[way];
  if (address) location.assign(address);
  return Boolean(address);
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "Escape" && typing) {
    typing.blur();
    return;
  }
  if (event.key === "Enter" && event.target.matches("[data-reason]")) {
    const pending = event.target.closest("[data-card]")?.querySelector("[data-pending]");
    if (pending) {
      event.preventDefault();
      event.target.form.requestSubmit(pending);
    }
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const item = current() ?? (items().length === 1 ? items()[0] : null);
  const acts = {
    "/": () => document.querySelector("[data-search]").focus(),
    "?": () => help.showModal(),
    j: () => move(1),
    k: () => move(-1),
  };
  if (acts[event.key]) {
    acts[event.key]();
    event.preventDefault();
  } else if (item && event.key.length === 1 && act(event.key, item)) {
    event.preventDefault();
  }
});

for (const button of document.querySelectorAll("[data-help]")) {
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
}
for (const select of document.querySelectorAll("[data-submit]")) {
  select.addEventListener("change", () => select.form.requestSubmit());
  select.form.querySelector("[data-plain]")?.setAttribute("hidden", "");
}
document.querySelector("[data-first]")?.focus();
current()?.scrollIntoView({ block: "nearest" });
