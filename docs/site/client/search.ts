import MiniSearch from "minisearch";
import { searchOptions } from "../searchOptions.ts";

const MAX_RESULTS = 12;

let index: Promise<MiniSearch> | null = null;

async function loadIndex(): Promise<MiniSearch> {
  const response = await fetch("/docs/search.json");
  return MiniSearch.loadJSON(await response.text(), searchOptions) as MiniSearch;
}

/** Opens the dialog. Typing searches guides and reference; the arrow keys move, Enter follows, Escape closes. */
export async function openSearch(dialog: HTMLDialogElement): Promise<void> {
  index ??= loadIndex();
  if (dialog.childElementCount === 0) build(dialog);
  dialog.showModal();
  dialog.querySelector("input")?.select();
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
    const results = query === "" ? [] : ((await index)?.search(query).slice(0, MAX_RESULTS) ?? []);
    if (query !== input.value.trim()) return; // typed on while the index was loading
    list.replaceChildren(...results.map(({ id, title, page }) => resultOf(String(id), String(title), String(page))));
    status.textContent = query === "" ? "" : results.length === 0 ? `Nothing found for “${query}”.` : "";
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

function resultOf(address: string, title: string, page: string): HTMLLIElement {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = address;
  const where = document.createElement("small");
  where.textContent = page;
  link.append(title, where);
  item.append(link);
  return item;
}
