import { useMutation } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { Section } from "../parts/page.tsx";
import { Problem } from "../parts/problem.tsx";

type Part = Record<string, unknown>;

/** A large account comes in parts with the same lists: the second's follow the first's. */
const joined = (first: Part, second: Part): Part =>
  Object.fromEntries(
    Object.entries(second).map(([name, value]) => [
      name,
      Array.isArray(value) ? [first[name] ?? [], value].flat() : value,
    ]),
  );

/** Reads all parts of the export, and saves them as one document. */
async function downloadExport(): Promise<void> {
  let part = await api.auth.export.query({});
  let whole: Part = part;
  while (part.nextPart !== null) {
    part = await api.auth.export.query({ after: part.nextPart });
    whole = joined(whole, part);
  }
  const text = JSON.stringify(whole, null, 2);
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
