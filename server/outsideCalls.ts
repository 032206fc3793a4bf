import { measuredCall } from "./measures.ts";
import { tracedWithin } from "./tracing.ts";

/**
 * Returns a part of the service that asks somebody outside, such as the payment processor, with each of its calls measured, and
 * in a span `<part>.<call>`.
 */
export function outsideCalls<Part extends object>(name: string, part: Part): Part {
  return new Proxy(part, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function" || typeof key !== "string" || !asksOutside(key)) return value;
      return (...input: unknown[]) =>
        measuredCall(name, key, () =>
          tracedWithin(
            () => `${name}.${key}`,
            () => Reflect.apply(value, target, input),
          ),
        );
    },
  });
}

/** Lists return an iterable, whose time is also that of who reads it; the others ask nobody. */
const asksOutside = (call: string) => !/^(list[A-Z]|presign|verify|close$)/.test(call);
