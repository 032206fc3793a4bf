/** An error response with Stripe's error body. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: { error: RefusalDetails };
  constructor(status: number, details: RefusalDetails) {
    super(details.message);
    this.status = status;
    this.body = { error: details };
  }
}

interface RefusalDetails {
  message: string;
  type?: "invalid_request_error" | "idempotency_error" | "api_error";
  code?: string;
  param?: string;
}

/** 400: the parameters are valid, but the operation is not possible. */
export function invalidRequest(code: string, message: string, param?: string): Refusal {
  return new Refusal(400, { code, message, type: "invalid_request_error", ...(param === undefined ? {} : { param }) });
}

/** 404: the object does not exist, in Stripe's words. */
export function missing(kind: string, id: string): Refusal {
  const message = `No such ${kind.replaceAll(".", " ")}: '${id}'`;
  return new Refusal(404, { code: "resource_missing", message, param: "id", type: "invalid_request_error" });
}
