// The part of the first page that changes by itself: asked for again when the stream says that
// something was captured, and every few seconds besides, for the queue moves without a word.
const part = document.getElementById("live");
const stale = document.getElementById("stale");
const EVERY_MS = 5000;
const LEAST_MS = 1000;
let asked = 0;
let waiting = 0;

function tell(why) {
  stale.querySelector("[data-why]").textContent = why;
  stale.hidden = !why;
}

// Only what differs is replaced: what is unchanged keeps the focus and how far it was scrolled.
function patch(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  const [mine, theirs] = [[...old.childNodes], [...fresh.childNodes]];
  if (mine.length && mine.length === theirs.length && old.cloneNode().isEqualNode(fresh.cloneNode())) {
    mine.forEach((node, n) => patch(node, theirs[n]));
  } else if (old === part) {
    part.replaceChildren(...theirs);
  } else {
    old.replaceWith(fresh);
  }
}

// A link that went takes its focus along to the same one in the new part. What is marked, to be copied, stays.
function put(nodes) {
  const fresh = part.cloneNode();
  fresh.append(...nodes);
  const marked = getSelection();
  if (!marked.isCollapsed && part.contains(marked.anchorNode)) {
    tell(fresh.isEqualNode(part) ? "" : "some of it is marked. It goes on when nothing is.");
    return;
  }
  const held = part.contains(document.activeElement) ? document.activeElement : null;
  const address = held?.getAttribute("href");
  patch(part, fresh);
  if (held && !part.contains(held)) {
    (address && part.querySelector(`a[href="${CSS.escape(address)}"]`))?.focus({ preventScroll: true });
  }
  tell("");
}

async function refresh() {
  waiting = 0;
  asked = Date.now();
  try {
    const answer = await fetch(part.dataset.live, { headers: { accept: "text/html" } });
    if (answer.ok) {
      put(new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
    } else {
      tell(answer.status === 401 ? "you are not in any more. The link that recorder up prints lets you in." : "the service could not answer just now.");
    }
  } catch {
    tell("the service does not answer. recorder up starts it.");
  }
}

function soon() {
  if (!waiting) waiting = setTimeout(refresh, Math.max(LEAST_MS - (Date.now() - asked), 0));
}

// A browser has six connections to a host: a tab that nobody looks at holds none of them.
let stream;
function listen() {
  if (document.hidden) {
    stream?.close();
    stream = undefined;
  } else if (!stream) {
    stream = new EventSource("/api/stream");
    stream.addEventListener("captured", soon);
    soon();
  }
}

document.addEventListener("visibilitychange", listen);
listen();
setInterval(() => document.hidden || soon(), EVERY_MS);
