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

// What has the focus keeps it: the same link in the new part takes it over.
function put(nodes) {
  const held = part.contains(document.activeElement) ? document.activeElement : null;
  const address = held?.getAttribute("href");
  part.replaceChildren(...nodes);
  if (held) (address && part.querySelector(`a[href="${CSS.escape(address)}"]`))?.focus({ preventScroll: true });
}

async function refresh() {
  waiting = 0;
  asked = Date.now();
  try {
    const answer = await fetch(part.dataset.live, { headers: { accept: "text/html" } });
    if (answer.ok) {
      put(new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
      tell("");
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
