/**
 * The script that starts Swagger UI. It sends nothing to other origins: it loads the document from this one, and rewrites
 * every request that a reader tries out to it. Browsers add the session cookie, Swagger UI an API key that was entered.
 * Swagger UI would also send the examples of query parameters, and the one of `cursor` lies in the past, so every list
 * would seem empty: they are deleted one by one.
 */
export const viewerSettings = `
const dark = matchMedia("(prefers-color-scheme: dark)");
const followTheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followTheme);
followTheme();
const forgetExamples = (update) => (document) => {
  for (const operation of Object.values(document.paths ?? {}).flatMap(Object.values)) {
    for (const parameter of operation.parameters ?? []) if (parameter.in === "query") delete parameter.example;
  }
  return update(document);
};
SwaggerUIBundle({
  dom_id: "#viewer",
  url: "/openapi.json",
  validatorUrl: null,
  queryConfigEnabled: false,
  deepLinking: true,
  filter: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  plugins: [() => ({ statePlugins: { spec: { wrapActions: { updateJsonSpec: forgetExamples } } } })],
  requestInterceptor: (request) => {
    const { pathname, search } = new URL(request.url, location.href);
    request.url = location.origin + pathname + search;
    return request;
  },
});
`;

/**
 * Makes Swagger UI look like our other pages; its own stylesheet has the dark colours. The selectors start with an id,
 * because that outweighs its classes. The choice of servers is hidden, because the only one is this service.
 */
export const viewerStyle = `
  main { max-width: 72rem; margin: 0 auto; padding: 2.5rem 1.5rem 5rem; }
  #viewer .swagger-ui { background: none; color: var(--ink); }
  #viewer .swagger-ui, #viewer :is(h2, h3, h4, h5, p, a, li, table, label, input, select, button, .opblock-tag,
    .opblock-summary-description, .parameter__name, .parameter__in) { font-family: system-ui, sans-serif; }
  #viewer :is(.wrapper, .block) { padding: 0; max-width: none; }
  #viewer .info { margin: 0; }
  #viewer .info .main, #viewer .servers-title, #viewer .servers { display: none; }
  #viewer .info a, #viewer .markdown a { color: var(--accent); }
  #viewer :is(.markdown, .renderedMarkdown) code { background: var(--panel); color: inherit; font-weight: 400; }
  #viewer .scheme-container { margin: 0; padding: 1rem 0; background: none; box-shadow: none; }
  #viewer .filter-container .operation-filter-input { margin: 0 0 1rem; border: 1px solid var(--line); font-size: 1rem; }
  #viewer .opblock-tag { padding: 0.75rem 0; border-color: var(--line); }
  #viewer .opblock { margin: 0 0 0.5rem; border: 1px solid var(--line); background: var(--panel); box-shadow: none; }
  #viewer .opblock .opblock-summary { border-color: var(--line); }
  #viewer .opblock .opblock-section-header { background: none; box-shadow: none; }
  #viewer .opblock .opblock-summary-method { min-width: 4.5rem; padding: 0.4rem; background: none; color: var(--accent);
    text-shadow: none; }
  #viewer .opblock-delete .opblock-summary-method { color: light-dark(#a33b2e, #f0958a); }
  #viewer .tab-header .tab-item.active h4 span::after { background: var(--accent); }
  #viewer .btn.authorize { border-color: var(--accent); color: var(--accent); }
  #viewer .btn.authorize svg { fill: var(--accent); color: var(--accent); }
  #viewer .btn.execute { border-color: var(--accent); background: var(--accent); color: var(--paper); }
  #viewer .response-col_links { display: none; }
  @media (max-width: 40rem) {
    main { padding: 2rem 1rem; }
    #viewer .opblock-summary-description { display: none; }
    #viewer .response-col_status { width: 4rem; }
    #viewer :is(.opblock-section-header, .responses-inner, .opblock-description-wrapper) { padding: 0.75rem; }
  }`;
