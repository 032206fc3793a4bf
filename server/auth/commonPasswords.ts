import { readFileSync } from "node:fs";
import { ConfigError, type PasswordBlocklist } from "../config.ts";
import { ApiError } from "../errors.ts";

/** Whether a password is one of those that nobody may choose. */
export type IsCommonPassword = (password: string) => boolean;

/**
 * Returns the test for the passwords of a list, in any case and composition.
 * @throws ConfigError if its file cannot be read
 */
export function loadCommonPasswords(list: PasswordBlocklist): IsCommonPassword {
  if (list === "off") return () => false;
  const passwords = new Set((list === "builtIn" ? builtIn() : readLines(list.file)).map(comparable));
  return (password) => passwords.has(comparable(password));
}

/** @throws ApiError `invalid_input` for a password that guessing tools try first; `field` is the input's. */
export function assertUncommon(isCommon: IsCommonPassword, password: string, field: string): void {
  if (!isCommon(password)) return;
  const message = "This password is one of those that are guessed first. Choose another one.";
  throw new ApiError("invalid_input", { issues: [{ path: field, message }] });
}

const comparable = (password: string) => password.normalize("NFC").toLowerCase();

function readLines(file: string): string[] {
  try {
    return readFileSync(file, "utf8")
      .split(/\r?\n/)
      .filter((line) => line !== "");
  } catch (cause) {
    throw new ConfigError(
      `PASSWORD_BLOCKLIST must be "off" or a file with one password a line; ${file} cannot be read.`,
      {
        cause,
      },
    );
  }
}

// What people choose when they must have at least 8 characters: words with the usual endings, rows of the keyboard, and
// repetitions. Shorter passwords are refused anyway.
const words = `password passw0rd p@ssword p@ssw0rd passwort welcome welcome1 letmein iloveyou ilovey0u sunshine princess
  football baseball basketball superman batman spiderman pokemon starwars dragon monkey shadow master michael jessica
  ashley charlie jordan daniel andrew thomas hunter killer trustno1 whatever computer internet samsung google facebook
  liverpool chelsea arsenal barcelona summer winter spring autumn secret qwerty qwertz azerty asdf abc abcd admin
  administrator root user login test testing guest default changeme access flower cookie cheese freedom hello family
  lovely forever jesus angel ginger buster mustang corvette mercedes porsche ferrari yankees cowboys steelers rebid`;
const endings = [
  "",
  "!",
  "1",
  "12",
  "123",
  "123!",
  "1234",
  "12345",
  "123456",
  "1!",
  "01",
  "11",
  "2024",
  "2025",
  "2026",
];
const others = `12345678 123456789 1234567890 0123456789 0987654321 987654321 87654321 12341234 123123123 12312312
  1234567891 12345678910 123456780 147258369 159357456 159753456 789456123 741852963 963852741 1q2w3e4r 1q2w3e4r5t
  1qaz2wsx 1qaz2wsx3edc zaq12wsx zaq1zaq1 qazwsxedc qazwsx123 q1w2e3r4 q1w2e3r4t5 qwertyui qwertyuiop qwertyuiop123
  qwer1234 qweasdzxc qwe123qwe 123qweasd 123qweasdzxc asdfghjk asdfghjkl asdf1234 asdfasdf asd123asd zxcvbnm1 zxcvbnm123
  zxcvbnma 1234qwer 12qwaszx a1b2c3d4 a1b2c3d4e5 aa123456 aaa111222 abc12345 abcd1234 abcdefgh abcdefghi abcdefghij
  a12345678 a123456789 123456ab 1234abcd password1password passwordpassword qwertyqwerty letmeinletmein mypassword
  yourpassword thisispassword nopassword correcthorsebatterystaple iloveyou2 iloveyou! iloveu123 ihateyou startrek
  leicester manchester cristiano ronaldo7 snowball elephant butterfly chocolate strawberry blink182 matrix123 ncc1701d
  rush2112 trustno11 fuckyou1 fuckyou123 motherfucker asshole1 lollipop loveyou1 lovelove sexysexy hellohello zzzzzzzz
  newpassword oldpassword temporary temppass temp1234 pass1234 pass12345 passpass passw0rd! p@$$w0rd p@ssw0rd! pa$$word`;

function builtIn(): string[] {
  const repeated = [..."0123456789abcdefghijklmnopqrstuvwxyz"].flatMap((character) =>
    [8, 9, 10, 12].map((length) => character.repeat(length)),
  );
  const ended = split(words).flatMap((word) => endings.map((ending) => word + ending));
  return [...split(others), ...repeated, ...ended];
}

const split = (text: string) => text.trim().split(/\s+/);
