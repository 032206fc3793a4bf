import "@fontsource-variable/instrument-sans/wght.css";
import "@fontsource-variable/instrument-sans/wght-italic.css";
import "../../../server/brand/tokens.css";
import "./base.css";
import "./top.css";
import "./frame.css";
import "./searchDialog.css";
import "./code.css";
import "./content.css";
import "./home.css";
import "./reference.css";
import { openSearch } from "./search.ts";

const all = <Kind extends Element = HTMLElement>(selector: string) => [...document.querySelectorAll<Kind>(selector)];
const one = <Kind extends Element = HTMLElement>(selector: string) => document.querySelector<Kind>(selector);

/** The button says whether the dark theme is on; what was chosen is kept in this browser. */
function setUpTheme(button: HTMLElement): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}

/** On narrow screens the navigation opens over the page. */
function setUpMenu(button: HTMLElement): void {
  const set = (open: boolean) => {
    button.setAttribute("aria-expanded", String(open));
    document.body.classList.toggle("menu-open", open);
  };
  button.addEventListener("click", () => set(button.getAttribute("aria-expanded") !== "true"));
  addEventListener("keydown", ({ key }) => key === "Escape" && set(false));
  one(".side")?.addEventListener("click", ({ target }) => target instanceof HTMLAnchorElement && set(false));
}

function addCopyButton(figure: HTMLElement): void {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(figure.querySelector("code")?.textContent ?? "");
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1_500);
  });
  figure.querySelector("figcaption")?.append(button);
}

/** Shows one language of several at a time, and the same one everywhere. Without scripts, all are shown. */
function setUpTabs(groups: HTMLElement[]): void {
  const choosers = groups.map(addLanguages);
  const choose = (language: string | null) => {
    for (const show of choosers) show(language);
  };
  for (const button of all<HTMLButtonElement>(".languages button")) {
    button.addEventListener("click", () => {
      localStorage.setItem("language", button.textContent);
      const before = button.getBoundingClientRect().top;
      choose(button.textContent);
      scrollBy(0, button.getBoundingClientRect().top - before); // the groups above have other heights now
    });
  }
  choose(localStorage.getItem("language"));
}

/** Adds the buttons of a group, and returns what shows one of its languages: the first, if it does not have the chosen one. */
function addLanguages(tabs: HTMLElement): (language: string | null) => void {
  const figures = [...tabs.querySelectorAll<HTMLElement>("figure.code")];
  const list = document.createElement("div");
  list.className = "languages";
  list.setAttribute("role", "group");
  list.setAttribute("aria-label", "Language");
  for (const { dataset } of figures) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = dataset.language ?? "";
    list.append(button);
  }
  tabs.prepend(list);
  tabs.classList.add("ready");
  return (language) => {
    const shown = figures.find(({ dataset }) => dataset.language === language) ?? figures[0];
    for (const figure of figures) figure.hidden = figure !== shown;
    for (const button of list.children)
      button.setAttribute("aria-pressed", String(button.textContent === shown?.dataset.language));
  };
}

/** Marks the heading in the outline that is being read. */
function followReading(outline: HTMLElement): void {
  const links = new Map([...outline.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const headings = all("main h2[id]");
  const show = () => {
    const current = headings.findLast((heading) => heading.getBoundingClientRect().top < 140) ?? headings[0];
    for (const [id, link] of links) link.toggleAttribute("data-current", id === current?.id);
  };
  addEventListener("scroll", show, { passive: true });
  show();
}

function setUpSearch(button: HTMLElement, dialog: HTMLDialogElement): void {
  button.addEventListener("click", () => openSearch(dialog));
  addEventListener("keydown", (event) => {
    const isTyping = event.target instanceof HTMLElement && event.target.closest("input, textarea, select") !== null;
    const isShortcut = (event.key === "/" && !isTyping) || (event.key === "k" && (event.metaKey || event.ctrlKey));
    if (!isShortcut || dialog.open) return;
    event.preventDefault();
    openSearch(dialog);
  });
}

const themeButton = one(".theme");
if (themeButton) setUpTheme(themeButton);
const menuButton = one(".menu");
if (menuButton) setUpMenu(menuButton);
const outline = one(".outline");
if (outline) followReading(outline);
const findButton = one(".find");
const dialog = one<HTMLDialogElement>("dialog.search");
if (findButton && dialog) setUpSearch(findButton, dialog);
for (const figure of all("figure.code")) addCopyButton(figure);
setUpTabs(all(".tabs"));
one('.side [aria-current="page"]')?.scrollIntoView({ block: "nearest" });
if (one("rebid-try")) void import("./tryIt.ts");
