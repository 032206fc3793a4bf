import { render, renderCode } from "../markdown.ts";
import { escapeHtml, type Page } from "../page.ts";
import {
  type Document,
  mediaOf,
  type Parameter,
  type Route,
  readDocument,
  resolve,
  routesOf,
  type Schema,
} from "./document.ts";
import { type Field, fieldsOf, typeOf } from "./fields.ts";
import {
  answerExampleOf,
  bodyExampleOf,
  curlSample,
  isPublic,
  needsSession,
  parametersOf,
  typescriptSample,
} from "./samples.ts";

/** The operations of one noun, for the navigation. */
export interface ReferenceGroup {
  name: string;
  routes: readonly Route[];
}

export interface Reference {
  groups: readonly ReferenceGroup[];
  pages: Page[];
}

/** Makes the pages of the reference from the OpenAPI document: one for each operation, and one for all records. */
export function buildReference(document = readDocument()): Reference {
  const routes = routesOf(document);
  const groups = document.tags
    .map(({ name }) => ({ name, routes: routes.filter(({ tags }) => tags[0] === name) }))
    .filter((group) => group.routes.length > 0);
  return {
    groups,
    pages: [
      overviewPage(document, groups),
      ...routes.map((route) => operationPage(document, route)),
      recordsPage(document),
    ],
  };
}

function overviewPage(document: Document, groups: readonly ReferenceGroup[]): Page {
  const intro = `Every operation works over REST and over [typed tRPC](/docs/contract#conventions), with the same input, output and error codes.
The whole document is at [/openapi.json](/openapi.json); point a generator of clients there.

Each page has a form that sends the request: as you, if you are signed in to this Rebid in this browser, or with an API key
that you paste. [Records](/docs/reference/records) lists what the operations return.`;
  const sections = groups.map(({ name, routes }) => {
    const description = document.tags.find((tag) => tag.name === name)?.description ?? "";
    const rows = routes.map(
      ({ method, path, slug, summary }) => `| \`${method}\` | \`${path}\` | [${summary}](/docs/reference/${slug}) |`,
    );
    return `## ${capital(name)}\n\n${description}\n\n| | | |\n|---|---|---|\n${rows.join("\n")}`;
  });
  const body = `${intro}\n\n${sections.join("\n\n")}`;
  const { html, headings } = render(body);
  const description = "Every operation, with its fields, its errors, and a form to try it.";
  return {
    path: "reference",
    title: "API reference",
    description,
    section: "Reference",
    markdown: markdownPage("API reference", body),
    html: `<header><p class="eyebrow">Reference</p><h1>API reference</h1><p class="lead">${description}</p></header>
<div class="overview">${html.replaceAll("<thead>\n<tr>\n<th></th>\n<th></th>\n<th></th>\n</tr>\n</thead>\n", "")}</div>`,
    headings,
  };
}

function operationPage(document: Document, route: Route): Page {
  const [tag = ""] = route.tags;
  const parts = [
    introOf(route),
    parametersPart(document, route, (parameter) => parameter.in !== "header", "Parameters"),
    bodyPart(document, route),
    parametersPart(document, route, (parameter) => parameter.in === "header", "Headers"),
    answerPart(document, route),
    errorsPart(document, route),
  ];
  const body = parts.filter((part) => part !== "").join("\n\n");
  const { html, headings } = render(body);
  const curl = curlSample(document, route);
  const typescript = typescriptSample(document, route);
  const answer = answerExampleOf(document, route);
  const form = `<rebid-try id="try" data-operation="${escapeHtml(JSON.stringify(formOf(document, route)))}"></rebid-try>`;
  const samples = [
    `<div class="tabs">${renderCode(curl, "sh", "curl")}${renderCode(typescript, "ts", "@rebid/sdk")}</div>`,
    form,
    answer === undefined ? "" : renderCode(JSON.stringify(answer, null, 2), "json", "Response"),
  ];
  const signature = `<p class="signature"><b class="method ${route.method.toLowerCase()}">${route.method}</b> <code>${escapeHtml(
    route.path,
  )
    .replaceAll("/", "/<wbr>")
    .replace(/\{\w+\}/g, "<i>$&</i>")}</code> <a href="#try">Try it</a></p>`;
  return {
    path: `reference/${route.slug}`,
    title: route.summary,
    description: `${route.method} ${route.path}`,
    section: capital(tag),
    markdown: markdownPage(
      route.summary,
      [
        `\`${route.method} ${route.path}\``,
        body,
        `\`\`\`sh\n${curl}\n\`\`\``,
        `\`\`\`ts\n${typescript}\n\`\`\``,
        answer === undefined ? "" : `\`\`\`json\n${JSON.stringify(answer, null, 2)}\n\`\`\``,
      ].join("\n\n"),
    ),
    html: `<header><p class="eyebrow">${escapeHtml(capital(tag))}</p><h1>${escapeHtml(route.summary)}</h1>${signature}</header>
<div class="columns"><div class="text">${html}</div>
<div class="samples">${samples.join("")}</div></div>`,
    headings,
    layout: "operation",
  };
}

/** What the form on the page needs to send the request. */
function formOf(document: Document, route: Route) {
  const parameters = parametersOf(document, route).map(({ name, in: place, required = false, schema }) => ({
    name,
    place,
    required,
    options: schema?.enum?.map(String),
    hint: typeOf(document, schema ?? {}).replace(/[`[\]]|\(.*?\)/g, ""),
  }));
  return {
    method: route.method,
    path: route.path,
    access: isPublic(route) ? "public" : needsSession(route) ? "session" : "any",
    isStream: Object.values(route.responses).some((response) => {
      return (
        mediaOf(resolve<{ content?: Record<string, object> }>(document, response).content)?.type === "text/event-stream"
      );
    }),
    parameters,
    body: bodyExampleOf(document, route),
  };
}

/** The description, which also says who may call; scopes lead to their explanation. */
const introOf = ({ description = "" }: Route) =>
  description.replace(/scope `([\w:]+)`/g, "scope [`$1`](/docs/authentication#scopes)");

const table = (fields: readonly Field[], withRequired: boolean) =>
  `| Field | Type | |\n|---|---|---|\n${fields
    .map(({ name, type, required, description }) => {
      const meaning = `${description}${withRequired && !required ? " *Optional.*" : ""}`;
      return `| \`${name}\` | ${type} | ${meaning
        .trim()
        .replaceAll("|", "\\|")
        .replace(/\s*\n\s*/g, " ")} |`;
    })
    .join("\n")}`;

function parametersPart(
  document: Document,
  route: Route,
  isShown: (parameter: Parameter) => boolean,
  title: string,
): string {
  const fields = parametersOf(document, route)
    .filter(isShown)
    .map((parameter) => ({
      name: parameter.name,
      type: typeOf(document, parameter.schema ?? {}),
      required: parameter.required ?? false,
      description: (parameter.description ?? parameter.schema?.description ?? "").replace(/^A UUID\.$/, ""),
    }));
  return fields.length === 0 ? "" : `## ${title}\n\n${table(fields, true)}`;
}

function bodyPart(document: Document, route: Route): string {
  if (route.requestBody === undefined) return "";
  const schema = mediaOf(
    resolve(document, route.requestBody as { content: Record<string, { schema?: Schema }> }).content,
  )?.media.schema;
  if (schema === undefined) return "";
  return `## Body\n\n${fieldsTable(document, schema, true)}`;
}

function fieldsTable(document: Document, schema: Schema, withRequired: boolean): string {
  const target = resolve(document, schema);
  const variants = target.anyOf ?? target.oneOf;
  if (variants && target.properties === undefined) {
    return variants.map((each) => fieldsTable(document, each, withRequired)).join("\n\nor\n\n");
  }
  const fields = fieldsOf(document, target);
  return fields.length === 0 ? typeOf(document, target) : table(fields, withRequired);
}

function answerPart(document: Document, route: Route): string {
  return Object.entries(route.responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([status, response]) => {
      const { content, description = "" } = resolve<{
        content?: Record<string, { schema?: Schema }>;
        description?: string;
      }>(document, response);
      const found = mediaOf(content);
      const schema = found?.media.schema;
      const fields =
        schema === undefined
          ? "There is no body."
          : found?.type === "application/json"
            ? fieldsTable(document, schema, false)
            : `\`${found?.type}\``;
      return `## Response ${status}\n\n${description}\n\n${fields}`;
    })
    .join("\n\n");
}

function errorsPart(document: Document, route: Route): string {
  const rows = Object.entries(route.responses)
    .filter(([status]) => !status.startsWith("2"))
    .map(([status, response]) => {
      const codes = codesOf(document, response).map((code) => `[\`${code}\`](/docs/errors#${code})`);
      return `| ${status} | ${codes.join(", ")} |`;
    });
  return rows.length === 0 ? "" : `## Errors\n\n| Status | Code |\n|---|---|\n${rows.join("\n")}`;
}

/** The codes that a response allows for `error`. Of the schemas that all apply, the narrowest one says. */
function codesOf(document: Document, response: object): string[] {
  const { content } = resolve<{ content?: Record<string, { schema?: Schema }> }>(document, response);
  const listsIn = (schema: Schema): string[][] => {
    const { properties, anyOf = [], oneOf = [], allOf = [] } = resolve(document, schema);
    const own = [...(properties?.error?.enum ?? []), properties?.error?.const].filter(
      (code) => typeof code === "string",
    );
    const alternatives = [...anyOf, ...oneOf].flatMap((each) => narrowest(listsIn(each)));
    return [own, alternatives, ...allOf.flatMap(listsIn)].filter((codes) => codes.length > 0);
  };
  const schema = mediaOf(content)?.media.schema;
  return schema === undefined ? [] : [...new Set(narrowest(listsIn(schema)))];
}

const narrowest = (lists: readonly string[][]) => lists.toSorted((one, other) => one.length - other.length)[0] ?? [];

/** What only one operation takes or returns is on that operation's page. */
function sharedRecords(document: Document): [string, Schema][] {
  const inRecords = JSON.stringify(document.components.schemas);
  return Object.entries(document.components.schemas).filter(([name, { properties, anyOf, oneOf }]) => {
    const isRecord = properties !== undefined || anyOf !== undefined || oneOf !== undefined;
    return isRecord && inRecords.includes(`"#/components/schemas/${name}"`);
  });
}

function recordsPage(document: Document): Page {
  const description = "Everything that the operations return by name, field by field.";
  const body = sharedRecords(document)
    .map(([name, schema]) => `## ${name}\n\n${schema.description ?? ""}\n\n${fieldsTable(document, schema, false)}`)
    .join("\n\n");
  const { html, headings } = render(body);
  return {
    path: "reference/records",
    title: "Records",
    description,
    section: "Reference",
    markdown: markdownPage("Records", body),
    html: `<header><p class="eyebrow">Reference</p><h1>Records</h1><p class="lead">${description}</p></header>\n${html}`,
    headings,
  };
}

const markdownPage = (title: string, body: string) =>
  `# ${title}\n\n${body.replace(/\]\((\/docs\/[^)#]+)(#[^)]*)?\)/g, "]($1.md$2)")}\n`;

const capital = (word: string) => (word === "keys" ? "API keys" : word.charAt(0).toUpperCase() + word.slice(1));
