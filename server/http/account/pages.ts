import { readFileSync } from "node:fs";
import { Router } from "express";
import { type Page, servePage } from "../page.ts";
import { allowOnly } from "../sendError.ts";

const SCRIPT_PATH = "/account/form.js";

const style = `
  form { margin: 1.75rem 0 0; }
  label { display: block; margin-bottom: 0.375rem; font-weight: 600; }
  input { width: 100%; padding: 0.75rem 0.875rem; border: 1px solid var(--quiet); border-radius: 0.5rem;
    background: var(--paper); color: inherit; font: inherit; }
  small { display: block; margin-top: 0.375rem; font-size: 0.875rem; color: var(--quiet); }
  button { margin-top: 1.5rem; padding: 0.75rem 1.25rem; border: 0; border-radius: 0.5rem; background: var(--accent);
    color: var(--paper); font: inherit; font-weight: 600; cursor: pointer; }
  button:disabled { opacity: 0.6; cursor: progress; }
  :focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
  [role="status"] { margin-top: 1.5rem; padding: 0.75rem 1rem; border-radius: 0.5rem; background: var(--panel);
    border-left: 4px solid var(--accent); }
  [role="status"].bad { border-left-color: light-dark(#b42318, #ffa198); }`;

interface Form {
  path: string;
  title: string;
  text: string;
  /** The operation that gets the token and the fields. */
  action: string;
  fields: string;
  button: string;
  done: string;
}

const forms: readonly Form[] = [
  {
    path: "/account/reset",
    title: "Choose a new password",
    text: "Setting it ends all sessions of your account, on every device.",
    action: "/auth/password/reset",
    fields: `<label for="password">New password</label>
<input id="password" name="newPassword" type="password" autocomplete="new-password" minlength="8" required
  aria-describedby="rule">
<small id="rule">At least 8 characters. A few random words are easy to remember and hard to guess.</small>`,
    button: "Set the new password",
    done: "Your password has been changed. Sign in with it from now on.",
  },
  {
    path: "/account/verify",
    title: "Confirm your address",
    text: "One click, and we know that this address is yours.",
    action: "/auth/email/verify",
    fields: "",
    button: "Confirm my address",
    done: "Thank you, your address is confirmed. You can close this page.",
  },
];

/** The pages that links in mails lead to. */
export function accountPages(): Router {
  const script = readFileSync(new URL("form.js", import.meta.url), "utf8");
  const routes = Router()
    .get(SCRIPT_PATH, (_request, response) => {
      response.type("js").send(script);
    })
    .all(SCRIPT_PATH, allowOnly("GET"));
  for (const form of forms) routes.use(servePage(form.path, pageOf(form)));
  return routes;
}

function pageOf({ title, text, action, fields, button, done }: Form): Page {
  return {
    title,
    style,
    scripts: [SCRIPT_PATH],
    hasSecretAddress: true,
    body: `<h1>${title}</h1>
<p>${text}</p>
<form data-action="${action}" data-done="${done}">
${fields}
<button>${button}</button>
</form>
<p role="status" hidden></p>
<noscript><p>This page needs JavaScript.</p></noscript>`,
  };
}
