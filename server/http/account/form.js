// The form of the pages that links in mails lead to. The token is taken out of the address at once, so that it stays
// neither in the history nor on the screen, and it is used only when the button is pressed: programs that follow the links
// in mails press none.
const form = document.querySelector("form");
const status = document.querySelector("[role=status]");
const button = form.querySelector("button");
const token = new URLSearchParams(location.search).get("token");
history.replaceState(null, "", location.pathname);

function end(message, kind) {
  form.hidden = true;
  show(message, kind);
}

function show(message, kind) {
  status.textContent = message;
  status.className = kind;
  status.hidden = false;
}

if (token === null || token === "") end("This link is incomplete. Open it from the mail again.", "bad");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  button.disabled = true;
  status.hidden = true;
  try {
    const response = await fetch(form.dataset.action, {
      method: "POST",
      credentials: "omit",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, ...Object.fromEntries(new FormData(form)) }),
    });
    if (response.ok) return end(form.dataset.done, "good");
    const { error, message, issues } = await response.json();
    if (error === "invalid_token") return end(message, "bad");
    show(issues?.[0]?.message ?? message, "bad");
  } catch {
    show("The service cannot be reached. Try again.", "bad");
  }
  button.disabled = false;
});
