/** Keeps the texts of a form in this tab, so that a reload loses nothing. Passwords and files are left out. */

const nameOf = (draft: string) => `rebid.draft.${draft}`;

const isText = (element: Element): element is HTMLInputElement | HTMLTextAreaElement =>
  element instanceof HTMLTextAreaElement ||
  (element instanceof HTMLInputElement && ["text", "search", "email"].includes(element.type));

export function keepDraft(draft: string, form: HTMLFormElement): void {
  const texts = [...form.elements].filter(isText).map(({ name, value }) => [name, value]);
  try {
    sessionStorage.setItem(nameOf(draft), JSON.stringify(Object.fromEntries(texts)));
  } catch {
    // Without storage, a reload begins anew.
  }
}

function readDraft(draft: string): Record<string, string> {
  try {
    return JSON.parse(sessionStorage.getItem(nameOf(draft)) ?? "{}");
  } catch {
    // Nothing that could be restored.
    return {};
  }
}

export function restoreDraft(draft: string, form: HTMLFormElement): void {
  const texts = readDraft(draft);
  for (const element of [...form.elements].filter(isText)) element.value = texts[element.name] ?? element.value;
}

export const hasDraft = (draft: string): boolean => Object.values(readDraft(draft)).some((text) => text !== "");

/** Where a page keeps what of a draft is no text of a field, such as a list that somebody makes. */
export const restOf = (draft: string) => `${nameOf(draft)}.rest`;

export function discardDraft(draft: string): void {
  for (const name of [nameOf(draft), restOf(draft)]) sessionStorage.removeItem(name);
}
