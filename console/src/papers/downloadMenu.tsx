import { type ToggleEvent, useId, useRef } from "react";
import { Button } from "../parts/button.tsx";
import menu from "../parts/menu.module.css";
import styles from "./papers.module.css";
import { ProblemOfFile } from "./problemOfFile.tsx";
import { useTake, type Wanted } from "./take.ts";

const names: Record<Wanted["format"], { name: string; use: string }> = {
  pdf: { name: "PDF", use: "to read and to print" },
  csv: { name: "CSV", use: "for a spreadsheet" },
  json: { name: "JSON", use: "for a program" },
};

/** As in papers.module.css: a menu that is not open has no width yet. */
const WIDTH_REM = 15;

interface DownloadMenuProps {
  /** What is downloaded, such as "the statement of November 2026". */
  of: string;
  wanted: Omit<Wanted, "format">;
  formats: readonly Wanted["format"][];
}

/** A button that opens a menu of the formats that something can be downloaded in. The browser opens and closes it. */
export function DownloadMenu({ of, wanted, formats }: DownloadMenuProps) {
  const take = useTake();
  const id = useId();
  const trigger = useRef<HTMLDivElement>(null);
  const place = ({ newState, currentTarget }: ToggleEvent<HTMLDivElement>) => {
    const button = trigger.current?.getBoundingClientRect();
    if (newState !== "open" || button === undefined) return;
    const width = WIDTH_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
    // Below the button and at its right end, also when the page is scrolled, and within the window.
    currentTarget.style.top = `${button.bottom + scrollY + 4}px`;
    currentTarget.style.left = `${Math.max(8, button.right - width)}px`;
  };
  return (
    <div className={styles.menu}>
      <div ref={trigger} className={styles.trigger}>
        <Button
          size="small"
          popoverTarget={id}
          aria-label={`Download ${of}`}
          busy={take.isPending}
          paused={take.isPaused}
        >
          Download <span aria-hidden="true">▾</span>
        </Button>
      </div>
      <div id={id} popover="auto" className={`${menu.panel} ${styles.panel}`} onBeforeToggle={place}>
        {formats.map((format) => (
          <button
            key={format}
            type="button"
            className={menu.item}
            popoverTarget={id}
            popoverTargetAction="hide"
            onClick={() => take.mutate({ ...wanted, format })}
          >
            {names[format].name} <small>{names[format].use}</small>
          </button>
        ))}
      </div>
      <ProblemOfFile take={take} />
    </div>
  );
}
