/** The S3 error codes that this store returns, with S3's status and a message for people. */
const catalogue = {
  AccessDenied: { status: 403, message: "Access Denied" },
  AuthorizationHeaderMalformed: { status: 400, message: "The authorization header is malformed." },
  AuthorizationQueryParametersError: { status: 400, message: "The authorization query parameters are malformed." },
  BadDigest: { status: 400, message: "The Content-MD5 you specified did not match what we received." },
  EntityTooLarge: { status: 400, message: "Your proposed upload exceeds the maximum allowed object size." },
  IncompleteBody: { status: 400, message: "The body does not have the length in the Content-Length header." },
  InternalError: { status: 500, message: "We encountered an internal error. Please try again." },
  InvalidAccessKeyId: { status: 403, message: "The access key id you provided does not exist in our records." },
  InvalidArgument: { status: 400, message: "Invalid Argument" },
  InvalidRange: { status: 416, message: "The requested range is not satisfiable." },
  InvalidRequest: { status: 400, message: "Invalid Request" },
  InvalidURI: { status: 400, message: "Couldn't parse the specified URI." },
  KeyTooLongError: { status: 400, message: "Your key is too long." },
  MethodNotAllowed: { status: 405, message: "The specified method is not allowed against this resource." },
  MissingContentLength: { status: 411, message: "You must provide the Content-Length HTTP header." },
  NoSuchBucket: { status: 404, message: "The specified bucket does not exist." },
  NoSuchKey: { status: 404, message: "The specified key does not exist." },
  NotImplemented: { status: 501, message: "This store does not implement what you requested." },
  PreconditionFailed: { status: 412, message: "At least one of the preconditions you specified did not hold." },
  RequestTimeTooSkewed: { status: 403, message: "The request time and the server's time differ too much." },
  SignatureDoesNotMatch: { status: 403, message: "The signature we calculated does not match the one you provided." },
  XAmzContentSHA256Mismatch: { status: 400, message: "The x-amz-content-sha256 header does not match the body." },
} as const;

export type S3ErrorCode = keyof typeof catalogue;

/** An error response with one of S3's codes. */
export class S3Error extends Error {
  readonly code: S3ErrorCode;
  readonly status: number;

  constructor(code: S3ErrorCode, message?: string) {
    super(message ?? catalogue[code].message);
    this.name = "S3Error";
    this.code = code;
    this.status = catalogue[code].status;
  }
}

/** Returns the XML body of an error response. */
export function errorXml(error: S3Error, requestId: string): string {
  const fields = { Code: error.code, Message: error.message, RequestId: requestId };
  const elements = Object.entries(fields).map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Error>${elements.join("")}</Error>`;
}

/** Escapes text between tags. */
export function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
