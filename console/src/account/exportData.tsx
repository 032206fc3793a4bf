import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";

/** Reads all parts of the export, and saves them as one file. */
async function downloadExport(): Promise<void> {
  const parts: unknown[] = [];
  let after: string | undefined;
  do {
    const part = await api.auth.export.query({ ...(after && { after }) });
    parts.push(part);
    after = part.nextPart ?? undefined;
  } while (after !== undefined);
  const text = JSON.stringify(parts.length === 1 ? parts[0] : parts, null, 2);
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = "rebid-export.json";
  link.click();
  URL.revokeObjectURL(url);
}

export function ExportData() {
  const save = useMutation({ mutationFn: downloadExport });
  return (
    <Section
      title="Your data"
      lead="Everything that Rebid knows about you, as one file, without the files that you uploaded."
      card
    >
      {save.error && <Problem error={save.error} />}
      <div>
        <Button busy={save.isPending} onClick={() => save.mutate()}>
          Download my data
        </Button>
      </div>
    </Section>
  );
}
