// The part of the first page that changes by itself: asked for again when the stream says that
// something was captured, and every few seconds besides, for the queue moves without a word.
const part = document.getElementById("live");
const EVERY_MS = 5000;
const LEAST_MS = 1000;
let asked = 0;
let waiting = 0;

async function refresh() {
  waiting = 0;
  asked = Date.now();
  try {
    const answer = await fetch(part.dataset.live, { headers: { accept: "text/html" } });
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!part.contains(document.activeElement)) part.replaceChildren(...page.body.childNodes);
  } catch {
    // The service is down for a moment: the next try finds it.
  }
}

function soon() {
  if (!waiting) waiting = setTimeout(refresh, Math.max(LEAST_MS - (Date.now() - asked), 0));
}

const stream = new EventSource("/api/stream");
stream.addEventListener("captured", soon);
setInterval(() => document.hidden || soon(), EVERY_MS);
