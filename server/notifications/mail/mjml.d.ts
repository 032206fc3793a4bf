/** The part of mjml 5 that we use: its package has no types. */
declare module "mjml" {
  interface Options {
    validationLevel: "strict";
    fonts: Record<string, string>;
  }
  interface Compiled {
    html: string;
    errors: { formattedMessage: string }[];
  }
  export default function mjml2html(source: string, options: Options): Promise<Compiled>;
}
