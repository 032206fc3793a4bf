/** Words with a capital first letter and nothing between them: `task.created` and `event` become `TaskCreatedEvent`. */
export const pascalCase = (...words: readonly string[]): string =>
  words
    .flatMap((word) => word.split(/[._]/))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");

/**
 * The name of a procedure's input, where its schema has none: the verb and the noun, so that `tasks.create` is `CreateTask`.
 * The noun `auth` says nothing about a login.
 */
export function inputName(namespace: string, verb: string): string {
  if (namespace === "auth") return pascalCase(verb);
  const [, action = verb, rest = ""] = /^([a-z]+)(.*)$/.exec(verb) ?? [];
  const noun = action === "list" ? namespace : namespace.replace(/s$/, "");
  return rest.startsWith("For") ? pascalCase(action, noun, rest) : pascalCase(action, rest, noun);
}

/** The name of a procedure's output, where its schema has none. */
export const outputName = (namespace: string, verb: string): string => `${inputName(namespace, verb)}Response`;
