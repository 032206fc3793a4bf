import { type UseMutationResult, useMutation, useQueryClient } from "@tanstack/react-query";
import { isTransient } from "./client.ts";
import { discardDraft } from "./draft.ts";
import { keyFor, settle } from "./idempotencyKeys.ts";

/** How often a change without an answer is sent again, with the same key. */
const MAX_RETRIES = 3;

type Run<Input, Output> = (input: Input, options: { context: { idempotencyKey: string } }) => Promise<Output>;

export type Action<Input, Output> = UseMutationResult<Output, Error, Input> &
  Pick<ActionOptions<Input, Output>, "draft">;

interface ActionOptions<Input, Output> {
  /** The name under which its form's fields survive a reload, until there is an answer. */
  draft?: string;
  onSuccess?: (output: Output, input: Input) => unknown;
}

/**
 * A change that a person asks for, such as `useAction("tasks.accept", api.tasks.accept.mutate)`. It carries an
 * `Idempotency-Key`, so a second click, a retry, or a reload while it is under way does it once. Without a network it waits.
 * Whatever it changed is read again before `onSuccess` is called.
 */
export function useAction<Input, Output>(
  operation: string,
  run: Run<Input, Output>,
  { draft, onSuccess }: ActionOptions<Input, Output> = {},
): Action<Input, Output> {
  const queryClient = useQueryClient();
  // Of what has no key (docs/contract.md "Repeating a request"), nothing is repeated.
  const retries = operation.startsWith("auth.") ? 0 : MAX_RETRIES;
  const mutation = useMutation({
    mutationKey: [operation],
    mutationFn: (input: Input) => run(input, { context: { idempotencyKey: keyFor(operation, input) } }),
    retry: (count, error) => count < retries && isTransient(error),
    retryDelay: (count) => 500 * 2 ** count,
    onSuccess: async (output, input) => {
      // Both at once: with the text still there and the key gone, a reload would invite to do it a second time.
      settle(operation, input);
      if (draft !== undefined) discardDraft(draft);
      await queryClient.invalidateQueries();
      await onSuccess?.(output, input);
    },
    onError: (error, input) => {
      if (!isTransient(error)) settle(operation, input);
    },
  });
  return { ...mutation, ...(draft !== undefined && { draft }) };
}
