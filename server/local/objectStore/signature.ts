import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { S3Error, type S3ErrorCode } from "./errors.ts";
import { encode, type Target } from "./target.ts";

/** The store's region and key pair, and the secret key by id of one that is being replaced. */
export interface Credentials {
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  formerKeys?: ReadonlyMap<string, string>;
}

interface RequestToVerify {
  method: string;
  target: Target;
  /** Node's `headersDistinct`: lower-case names with separate values. */
  headers: NodeJS.Dict<string[]>;
}

/** The signature and its parameters, from the query or from the Authorization header. */
interface Signature {
  credential: string;
  signedHeaders: string[];
  hex: string;
  date: string;
  payloadHash: string;
  expiresInSeconds: number | null;
  /** S3's error code for a malformed signature, which differs between query and header. */
  malformed: S3ErrorCode;
}

export const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD";
const ALGORITHM = "AWS4-HMAC-SHA256";
const MAX_SKEW_MS = 15 * 60 * 1000;
const MAX_EXPIRES_IN_SECONDS = 604_800;

/**
 * Verifies AWS Signature Version 4
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-authenticating-requests.html) in a presigned query or an
 * Authorization header. It is written from that page and shares no code with the SDK, which signs. The tests compare it
 * with the SDK and with aws4.
 * @param nowMs the time of the request, in milliseconds since the epoch
 * @returns the SHA-256 that the body must have, in hexadecimal, or UNSIGNED-PAYLOAD
 * @throws S3Error with S3's code when the signature is missing, malformed, expired or wrong
 */
export function verifySignature(request: RequestToVerify, credentials: Credentials, nowMs: number): string {
  const sent = readSignature(request);
  const [accessKeyId = "", day, region, service, terminator, ...rest] = sent.credential.split("/");
  const isCurrent = accessKeyId === credentials.accessKeyId;
  const secretKey = isCurrent ? credentials.secretAccessKey : credentials.formerKeys?.get(accessKeyId);
  if (secretKey === undefined) throw new S3Error("InvalidAccessKeyId");
  const scopeFits = region === credentials.region && service === "s3" && terminator === "aws4_request";
  if (!scopeFits || rest.length > 0 || day !== sent.date.slice(0, 8)) {
    throw new S3Error(sent.malformed, `The credential's scope must be date/${credentials.region}/s3/aws4_request.`);
  }
  checkTime(sent, nowMs);
  checkCoverage(request, sent);

  const scope = `${day}/${region}/s3/aws4_request`;
  const stringToSign = [ALGORITHM, sent.date, scope, sha256(canonicalRequest(request, sent))].join("\n");
  const keys = [day, region, "s3", "aws4_request"];
  const signingKey = keys.reduce<string | Buffer>((key, part) => hmac(key, part), `AWS4${secretKey}`);
  const expected = hmac(signingKey, stringToSign);
  // Both have 32 bytes, because the format was checked. The comparison takes constant time.
  if (!timingSafeEqual(expected, Buffer.from(sent.hex, "hex"))) throw new S3Error("SignatureDoesNotMatch");
  return sent.payloadHash;
}

function readSignature({ target, headers }: RequestToVerify): Signature {
  const authorization = single(headers, "authorization");
  const presigned = [...target.query.keys()].some((name) => name.startsWith("X-Amz-"));
  if (authorization !== undefined && presigned) {
    throw new S3Error("InvalidArgument", "Only one authentication mechanism is allowed.");
  }
  if (authorization !== undefined) return readHeader(authorization, headers);
  if (presigned) return readQuery(target.query, headers);
  throw new S3Error("AccessDenied");
}

function readHeader(authorization: string, headers: NodeJS.Dict<string[]>): Signature {
  const malformed = "AuthorizationHeaderMalformed";
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^,\s]+),\s*SignedHeaders=([^,\s]+),\s*Signature=(\S+)$/;
  const [, credential, signedHeaders, hex] = pattern.exec(authorization) ?? [];
  if (credential === undefined || signedHeaders === undefined || hex === undefined) throw new S3Error(malformed);
  const date = single(headers, "x-amz-date");
  if (date === undefined) throw new S3Error("AccessDenied", "A signed request needs an X-Amz-Date header.");
  const payloadHash = single(headers, "x-amz-content-sha256");
  if (payloadHash === undefined) throw new S3Error("InvalidRequest", "Missing header: x-amz-content-sha256");
  return checked({ credential, hex, date, payloadHash, expiresInSeconds: null, malformed }, signedHeaders);
}

function readQuery(query: ReadonlyMap<string, string>, headers: NodeJS.Dict<string[]>): Signature {
  const malformed = "AuthorizationQueryParametersError";
  const parameter = (name: string): string => {
    const value = query.get(name);
    if (value === undefined) throw new S3Error(malformed, `Missing query parameter: ${name}`);
    return value;
  };
  if (parameter("X-Amz-Algorithm") !== ALGORITHM) throw new S3Error(malformed, `X-Amz-Algorithm must be ${ALGORITHM}.`);
  const expires = parameter("X-Amz-Expires");
  const expiresInSeconds = Number(expires);
  if (!/^\d{1,6}$/.test(expires) || expiresInSeconds < 1 || expiresInSeconds > MAX_EXPIRES_IN_SECONDS) {
    throw new S3Error(malformed, `X-Amz-Expires must be a number of seconds from 1 to ${MAX_EXPIRES_IN_SECONDS}.`);
  }
  const sent = {
    credential: parameter("X-Amz-Credential"),
    hex: parameter("X-Amz-Signature"),
    date: parameter("X-Amz-Date"),
    payloadHash: single(headers, "x-amz-content-sha256") ?? query.get("X-Amz-Content-Sha256") ?? UNSIGNED_PAYLOAD,
    expiresInSeconds,
    malformed,
  } as const;
  return checked(sent, parameter("X-Amz-SignedHeaders"));
}

/** Checks the format of the fields that queries and headers have in common. */
function checked(sent: Omit<Signature, "signedHeaders">, signedHeaders: string): Signature {
  const names = signedHeaders.split(";");
  if (names.some((name, index) => !/^[a-z0-9-]+$/.test(name) || (index > 0 && name <= (names[index - 1] ?? "")))) {
    throw new S3Error(sent.malformed, "The signed headers must be lower-case names in order.");
  }
  if (!/^[0-9a-f]{64}$/.test(sent.hex)) throw new S3Error("SignatureDoesNotMatch");
  if (Number.isNaN(parseDate(sent.date))) throw new S3Error(sent.malformed, "X-Amz-Date must be YYYYMMDDTHHMMSSZ.");
  if (sent.payloadHash !== UNSIGNED_PAYLOAD && !/^[0-9a-f]{64}$/.test(sent.payloadHash)) {
    throw new S3Error("NotImplemented", "x-amz-content-sha256 must be the body's SHA-256 or UNSIGNED-PAYLOAD.");
  }
  return { ...sent, signedHeaders: names };
}

function checkTime(sent: Signature, nowMs: number): void {
  const signedAtMs = parseDate(sent.date);
  if (sent.expiresInSeconds === null) {
    if (Math.abs(nowMs - signedAtMs) > MAX_SKEW_MS) throw new S3Error("RequestTimeTooSkewed");
    return;
  }
  if (signedAtMs - nowMs > MAX_SKEW_MS) throw new S3Error("AccessDenied", "Request is not yet valid");
  if (nowMs >= signedAtMs + sent.expiresInSeconds * 1000) throw new S3Error("AccessDenied", "Request has expired");
}

/**
 * The signature must cover the host and every header that changes the meaning of the request. A presigned upload must
 * also cover its type and length. S3 does not require this; here it ensures that a URL that leaves them open fails in
 * tests.
 */
function checkCoverage({ method, headers }: RequestToVerify, sent: Signature): void {
  const required = Object.keys(headers).filter((name) => name.startsWith("x-amz-"));
  required.push("host");
  if (method === "PUT" && sent.expiresInSeconds !== null) required.push("content-type", "content-length");
  if (sent.expiresInSeconds === null && headers["content-type"] !== undefined) required.push("content-type");
  const missing = required.filter((name) => !sent.signedHeaders.includes(name));
  if (missing.length > 0) {
    throw new S3Error("AccessDenied", `There were headers present in the request which were not signed: ${missing}`);
  }
}

function canonicalRequest({ method, target, headers }: RequestToVerify, sent: Signature): string {
  const query = [...target.query]
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort();
  const headerLines = sent.signedHeaders.map((name) => {
    const values = headers[name];
    if (values === undefined) throw new S3Error("SignatureDoesNotMatch", `The signed header ${name} is missing.`);
    return `${name}:${values.map((value) => value.trim().replace(/ +/g, " ")).join(",")}\n`;
  });
  const signedHeaders = sent.signedHeaders.join(";");
  return [method, target.path, query.join("&"), headerLines.join(""), signedHeaders, sent.payloadHash].join("\n");
}

/** @returns epoch milliseconds, or NaN if the text is not a date in AWS's basic ISO 8601 format */
function parseDate(text: string): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

function single(headers: NodeJS.Dict<string[]>, name: string): string | undefined {
  const values = headers[name];
  if (values !== undefined && values.length > 1)
    throw new S3Error("InvalidRequest", `The header ${name} is given twice.`);
  return values?.[0];
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}
