import { readFile, writeFile } from "node:fs/promises";
import type { Browser } from "playwright-core";

/** Writes a picture of a page as WebP, a third of the PNG, for the README and the guides. Chromium itself can only take PNG and JPEG. */
export async function writeWebp(browser: Browser, png: string, webp: string): Promise<void> {
  const page = await browser.newPage();
  try {
    await page.setContent(`<img src="data:image/png;base64,${(await readFile(png)).toString("base64")}">`);
    const encoded = await page.evaluate<string>(`(async () => {
      const image = document.querySelector("img");
      await image.decode();
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width: image.naturalWidth, height: image.naturalHeight });
      canvas.getContext("2d").drawImage(image, 0, 0);
      return canvas.toDataURL("image/webp", 0.8).replace(/^.*,/, "");
    })()`);
    await writeFile(webp, Buffer.from(encoded, "base64"));
  } finally {
    await page.close();
  }
}
