import type { ExportedFile } from "../api/client.ts";
import type { Action } from "../api/useAction.ts";
import { Notice } from "../parts/notice.tsx";
import { Problem } from "../parts/problem.tsx";
import type { Wanted } from "./take.ts";

/** Why there is no file, if there is none. */
export function ProblemOfFile({ take }: { take: Action<Wanted, ExportedFile> }) {
  if (take.error) return <Problem error={take.error} />;
  if (take.data?.status !== "failed") return null;
  return (
    <Notice kind="bad" alert>
      The file could not be made. Try again in a moment.
    </Notice>
  );
}
