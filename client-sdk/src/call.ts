/** An answer with its HTTP metadata. */
export interface Answer<Output> {
  data: Output;
  status: number;
  headers: Headers;
  /** Quote it to report a problem. */
  requestId: string | undefined;
}

/** The promise of an output, which can also be awaited with the answer's metadata. */
export interface Call<Output> extends Promise<Output> {
  /** Returns the output with the answer's status, headers and request id. */
  withResponse(): Promise<Answer<Output>>;
}

export function callOf<Output>(answer: Promise<Answer<Output>>): Call<Output> {
  const output = answer.then(({ data }) => data);
  return Object.assign(output, {
    withResponse: () => {
      // Whoever awaits the answer learns of its failure there.
      output.catch(() => {});
      return answer.then((same) => same);
    },
  });
}
