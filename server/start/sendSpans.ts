import { setTimeout as sleep } from "node:timers/promises";
import { context, propagation, trace } from "@opentelemetry/api";
import { type Config, ConfigError } from "../config.ts";
import { turnTracingOn } from "../tracing.ts";

/** How long the end of the process waits for the last spans to be sent. */
const LAST_SPANS_TIMEOUT_MS = 2_000;

/**
 * Sends spans to `OTEL_EXPORTER_OTLP_ENDPOINT`, over HTTP in the form of OTLP. `stop` sends what is left, if it can.
 * @throws ConfigError when the packages for it, which are not installed with the service, are missing
 */
export async function sendSpans({ endpoint, serviceName, share }: NonNullable<Config["tracing"]>) {
  const { base, exporter, contexts, core, resources } = await loadPackages();
  const ratio = new base.TraceIdRatioBasedSampler(share);
  const provider = new base.BasicTracerProvider({
    resource: resources.resourceFromAttributes({ "service.name": serviceName }),
    // A caller may name its trace, but not decide that we record it. The share of an id is the same in every process.
    sampler: new base.ParentBasedSampler({ root: ratio, remoteParentSampled: ratio, remoteParentNotSampled: ratio }),
    spanProcessors: [
      new base.BatchSpanProcessor(new exporter.OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, "")}/v1/traces` })),
    ],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new contexts.AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new core.W3CTraceContextPropagator());
  turnTracingOn();
  const stop = async () => {
    // Spans that a collector does not take in time are lost: they must neither hold up a clean end nor make it a failure.
    const sent = provider.shutdown().catch(() => undefined);
    await Promise.race([sent, sleep(LAST_SPANS_TIMEOUT_MS)]);
  };
  return { stop };
}

async function loadPackages() {
  try {
    const [base, exporter, contexts, core, resources] = await Promise.all([
      import("@opentelemetry/sdk-trace-base"),
      import("@opentelemetry/exporter-trace-otlp-http"),
      import("@opentelemetry/context-async-hooks"),
      import("@opentelemetry/core"),
      import("@opentelemetry/resources"),
    ]);
    return { base, exporter, contexts, core, resources };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new ConfigError(
      "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the packages that send spans are not installed. See docs/guides/operating.md, " +
        '"Traces".',
      { cause: error },
    );
  }
}
