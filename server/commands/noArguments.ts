/** For a command that takes no arguments: ends the process with 2 when it was given some, before anything is done. */
export function expectNoArguments(command: string): void {
  const words = process.argv.slice(2);
  if (words.length === 0) return;
  console.error(`\`npm run ${command}\` takes no arguments, but was given: ${words.join(" ")}`);
  process.exit(2);
}
