import options from "virtual:options";

/** Returns the values that a field of an operation, or each item of it, may have, as the API document states them. */
export const optionsOf = (operation: string, field: string): readonly string[] => options[operation]?.[field] ?? [];
