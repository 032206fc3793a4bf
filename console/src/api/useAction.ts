import { useMutation, useQueryClient } from "@tanstack/react-query";
import { isTransient } from "./client.ts";
import { keyFor, settle } from "./idempotencyKeys.ts";

/** How often a change without an answer is sent again, with the same key. */
const MAX_RETRIES = 3;

type Run<Input, Output> = (input: Input, options: { context: { idempotencyKey: string } }) => Promise<Output>;

interface ActionOptions<Input, Output> {
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
  { onSuccess }: ActionOptions<Input, Output> = {},
) {
  const queryClient = useQueryClient();
  // Of what has no key (docs/contract.md "Repeating a request"), nothing is repeated.
  const retries = operation.startsWith("auth.") ? 0 : MAX_RETRIES;
  return useMutation({
    mutationKey: [operation],
    mutationFn: (input: Input) => run(input, { context: { idempotencyKey: keyFor(operation, input) } }),
    retry: (count, error) => count < retries && isTransient(error),
    retryDelay: (count) => 500 * 2 ** count,
    onSuccess: async (output, input) => {
      settle(operation, input);
      await queryClient.invalidateQueries();
      await onSuccess?.(output, input);
    },
    onError: (error, input) => {
      if (!isTransient(error)) settle(operation, input);
    },
  });
}
