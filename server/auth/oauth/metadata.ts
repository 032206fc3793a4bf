import { scopes } from "../../schemas/scope.ts";
import { DEVICE_GRANT } from "./clients.ts";

/** Where the authorization server is asked. */
export const paths = {
  authorization: "/oauth/authorize",
  token: "/oauth/token",
  revocation: "/oauth/revoke",
  device_authorization: "/oauth/device",
  registration: "/oauth/register",
  /** The page where a person types the code of a device. */
  code_verification: "/app/device",
} as const;

/** The authorization server's metadata. Source: RFC 8414; RFC 9207; draft-ietf-oauth-client-id-metadata-document. */
export function serverMetadata(publicUrl: string, { allowsRegistration }: { allowsRegistration: boolean }) {
  return {
    issuer: publicUrl,
    authorization_endpoint: publicUrl + paths.authorization,
    token_endpoint: publicUrl + paths.token,
    revocation_endpoint: publicUrl + paths.revocation,
    device_authorization_endpoint: publicUrl + paths.device_authorization,
    ...(allowsRegistration && { registration_endpoint: publicUrl + paths.registration }),
    scopes_supported: [...scopes, "offline_access"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", DEVICE_GRANT],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${publicUrl}/docs/connect`,
  };
}
