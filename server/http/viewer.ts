/**
 * The script that starts Swagger UI. It asks nobody else for anything: the document, and every request that is tried out,
 * are at this very origin. The session cookie goes along automatically, and an API key when one was entered.
 */
export const viewerSettings = `
const dark = matchMedia("(prefers-color-scheme: dark)");
const followTheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followTheme);
followTheme();
SwaggerUIBundle({
  dom_id: "#viewer",
  url: "/openapi.json",
  validatorUrl: null,
  queryConfigEnabled: false,
  deepLinking: true,
  filter: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  defaultModelRendering: "model",
  displayRequestDuration: true,
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
});
`;

/** Makes Swagger UI look like our other pages. Its own stylesheet has the dark colours. */
export const viewerStyle = `
  .swagger-ui { max-width: 72rem; margin: 0 auto; }
`;
