import limits from "virtual:limits";

/** The limits of a field, as the API document states them. Lengths count characters (Unicode code points). */
export interface Limits {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
}

/** Returns the limits of a field of an operation, such as `limitsOf("tasks.create", "title")`. */
export function limitsOf(operation: string, field: string): Limits {
  // The endpoints of OAuth are not in the document; what they refuse, they say.
  if (operation.startsWith("oauth.")) return {};
  // Nor are fields of a list's items here, such as `checks.3.name`: no form shows their limits.
  if (/\.\d+\./.test(field)) return {};
  const found = limits[operation]?.[field];
  if (found === undefined) throw new Error(`The API document has no field ${field} of ${operation}.`);
  return found;
}

/** Counts characters as the API does. */
export const countCharacters = (text: string) => [...text].length;
