import {
  type Attributes,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";

/** Whether a start has found somewhere to send spans. Until then a call here costs a comparison. */
let isOn = false;
const tracer = trace.getTracer("rebid");

/** From here on spans are made. Call it before the services are created. */
export function turnTracingOn(): void {
  isOn = true;
}

export const isTracing = (): boolean => isOn;

/** The header, and the column, that names a span to whoever goes on with its work: W3C Trace Context. */
export const TRACE_PARENT = "traceparent";

interface SpanOptions {
  kind?: SpanKind;
  /** Never what a caller sent, and never a secret. */
  attributes?: Attributes;
  /** The span to go on from, as another process wrote it down; by default, the current one. Null begins a trace. */
  parent?: string | null;
}

/** Makes a span of this name around `work`, which becomes the current one for all that `work` does. */
export function traced<Result>(
  name: string,
  work: () => Promise<Result>,
  { kind = SpanKind.INTERNAL, attributes = {}, parent }: SpanOptions = {},
): Promise<Result> {
  if (!isOn) return work();
  const above = parent === undefined ? context.active() : contextOf({ [TRACE_PARENT]: parent ?? "" });
  return tracer.startActiveSpan(name, { kind, attributes }, above, async (span) => {
    try {
      return await work();
    } catch (error) {
      markFailed(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The same for a part of work that is only worth a span of its own inside of another, such as a statement. */
export function tracedWithin<Result>(name: () => string, work: () => Promise<Result>): Promise<Result> {
  if (!isOn || trace.getSpan(context.active()) === undefined) return work();
  return traced(name(), work, { kind: SpanKind.CLIENT });
}

/** Runs `serve` in a span of a request, which ends when `ended` is called with its status. */
export function traceRequest(
  method: string,
  headers: Record<string, unknown>,
  serve: (ended: (status: number) => void) => void,
): void {
  const above = contextOf(headers);
  const span = tracer.startSpan(`HTTP ${method}`, { kind: SpanKind.SERVER }, above);
  context.with(trace.setSpan(above, span), serve, undefined, (status: number) => {
    span.setAttribute("http.response.status_code", status);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
}

const contextOf = (headers: Record<string, unknown>) => propagation.extract(ROOT_CONTEXT, headers);

/** The message of an error may contain what somebody sent. */
function markFailed(span: Span, error: unknown): void {
  const message = error instanceof Error ? error.name : "not an error";
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}

/** The current span, for whoever goes on with its work later; null if there is none. */
export function currentTraceParent(): string | null {
  if (!isOn) return null;
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers[TRACE_PARENT] ?? null;
}

/** What a log line says about the current span. */
export function traceIds(): { traceId?: string; spanId?: string } {
  const span = isOn ? trace.getSpan(context.active()) : undefined;
  if (span === undefined) return {};
  const { traceId, spanId } = span.spanContext();
  return { traceId, spanId };
}
