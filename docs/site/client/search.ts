import type MiniSearch from "minisearch";
import type { SearchResult } from "minisearch";
import { forgiving } from "../searchOptions.ts";
import { excerptOf } from "./excerpt.ts";

const MAX_RESULTS = 12;

let index: Promise<MiniSearch> | null = null;

/** Loads the engine and its index once; after a failure, at the next call. */
function loadIndex(): Promise<MiniSearch> {
  index ??= fetchIndex().catch((error: unknown) => {
    index = null;
    throw error;
  });
  return index;
}

async function fetchIndex(): Promise<MiniSearch> {
  const [response, { default: Engine }, { searchOptions }] = await Promise.all([
    fetch("/docs/search.json"),
    import("minisearch"),
    import("../searchOptions.ts"),
  ]);
  if (!response.ok) throw new Error(`the search index is missing: ${response.status}`);
  return Engine.loadJSON(await response.text(), searchOptions);
}

/**
 * Opens the dialog. Typing searches guides and reference; the arrow keys move, Enter follows, Escape closes. It opens before the
 * index has been loaded, so that no key is lost that is pressed meanwhile.
 */
export function openSearch(dialog: HTMLDialogElement): void {
  if (dialog.childElementCount === 0) build(dialog);
  dialog.showModal();
  dialog.querySelector("input")?.select();
  loadIndex().catch(() => {}); // what is typed asks again, and tells
}

function build(dialog: HTMLDialogElement): void {
  const input = document.createElement("input");
  Object.assign(input, {
    type: "search",
    placeholder: "Search guides and reference",
    autocomplete: "off",
    spellcheck: false,
  });
  input.setAttribute("aria-label", "Search guides and reference");
  const list = document.createElement("ul");
  const status = document.createElement("p");
  status.setAttribute("role", "status");
  status.textContent = "Try “webhook signature”, “spend_limit” or “upload”.";
  dialog.append(input, status, list);

  input.addEventListener("input", async () => {
    const query = input.value.trim();
    const loaded = query === "" ? null : await loadIndex().catch(() => null);
    if (query !== input.value.trim()) return; // typed on while the index was loading
    const found = loaded?.search(query) ?? [];
    const results = (found.length > 0 ? found : (loaded?.search(query, forgiving) ?? [])).slice(0, MAX_RESULTS);
    list.replaceChildren(...results.map(resultOf));
    if (query === "" || results.length > 0) status.textContent = "";
    else if (loaded === null) status.textContent = "The search could not be loaded. Type on to try again.";
    else status.textContent = `Nothing found for “${query}”.`;
  });
  dialog.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && document.activeElement === input) links[0]?.click();
    if (step === undefined || links.length === 0) return;
    event.preventDefault();
    const current = links.findIndex((link) => link.matches(":focus"));
    const next = current + step;
    if (next < 0) input.focus();
    else links[Math.min(next, links.length - 1)]?.focus();
  });
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || (target instanceof Element && target.closest("a"))) dialog.close();
  });
}

function resultOf({ id, title, page, text, terms }: SearchResult): HTMLLIElement {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = String(id);
  const where = document.createElement("small");
  where.textContent = String(page);
  const name = document.createElement("b");
  name.textContent = String(title);
  const excerpt = document.createElement("span");
  excerpt.textContent = excerptOf(String(text), terms);
  link.append(name, where, excerpt);
  item.append(link);
  return item;
}
