import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ClipboardEvent, type DragEvent, Fragment, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { api, failureOf, type Message, type MessageFile } from "../api/client.ts";
import { conversationsQuery, meQuery, messagesQuery } from "../api/queries.ts";
import { useAction } from "../api/useAction.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { TextArea } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { formatBytes, formatDay, formatExact, formatTime } from "../parts/format.ts";
import { Pages } from "../parts/list.tsx";
import { Notice } from "../parts/notice.tsx";
import { PlainText } from "../parts/plainText.tsx";
import { Problem } from "../parts/problem.tsx";
import styles from "./conversation.module.css";
import { File as ShownFile } from "./files.tsx";
import { putFile } from "./putFile.ts";

interface ConversationProps {
  bidId: string;
  canWrite: boolean;
  /** For a moderator who decides the dispute: both sides are others, and nobody tells when one of them writes. */
  asModerator?: boolean;
}

/** A moderator gets no events of what the two sides write. */
const MODERATOR_POLL_MS = 15_000;

/** What the buyer and a bidder have written to each other, the newest at the end, with the place to write. */
export function Conversation({ bidId, canWrite, asModerator = false }: ConversationProps) {
  const messages = useInfiniteQuery({
    ...messagesQuery(bidId),
    ...(asModerator && { refetchInterval: MODERATOR_POLL_MS }),
  });
  const { data: me } = useQuery(meQuery);
  const userId = me?.user.id ?? "";
  const all = messages.data?.pages.flatMap((page) => page.messages).reverse() ?? [];
  const newest = all.at(-1);
  useRead(bidId, asModerator ? undefined : all.findLast(({ sender }) => sender.id !== userId)?.id);
  const log = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (newest?.id !== undefined) log.current?.scrollTo({ top: 0 });
  }, [newest?.id]);
  if (asModerator && failureOf(messages.error)?.error === "not_found") {
    return <Notice>You have bid on this task, so what its two sides wrote is not for you to read.</Notice>;
  }
  return (
    <div className={styles.conversation}>
      {!asModerator && <h2 className="visually-hidden">Messages</h2>}
      {/* It scrolls inside, so it must be reachable with the keyboard. Its end is at 0: see the style sheet. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
      <div ref={log} role="log" className={styles.log} tabIndex={0} aria-label="Messages">
        <div>
          <Pages
            query={messages}
            more="Show earlier messages"
            isEmpty={() => all.length === 0}
            empty={
              <p className={styles.none}>
                Nobody has written yet.{" "}
                {asModerator
                  ? "Both sides read what you write."
                  : "Only the two of you read what is said here, and moderators while there is a dispute."}
              </p>
            }
          >
            {() => <Messages messages={all} userId={userId} asModerator={asModerator} />}
          </Pages>
        </div>
      </div>
      {canWrite ? <Composer bidId={bidId} /> : <p className={styles.none}>Nothing more can be written here.</p>}
    </div>
  );
}

/** Tells the service what was read, while somebody looks. */
function useRead(bidId: string, upTo: string | undefined): void {
  const queryClient = useQueryClient();
  useEffect(() => {
    if (upTo === undefined) return;
    const tell = async () => {
      if (document.visibilityState !== "visible") return;
      document.removeEventListener("visibilitychange", tell);
      await api.messages.read.mutate({ id: bidId, upTo }).catch(() => null);
      await queryClient.invalidateQueries({ queryKey: conversationsQuery.queryKey });
    };
    document.addEventListener("visibilitychange", tell);
    void tell();
    return () => document.removeEventListener("visibilitychange", tell);
  }, [queryClient, bidId, upTo]);
}

interface MessagesProps {
  messages: readonly Message[];
  userId: string;
  asModerator: boolean;
}

function Messages({ messages, userId, asModerator }: MessagesProps) {
  return messages.map((message, index) => {
    const before = messages[index - 1];
    const day = formatDay(message.createdAt);
    return (
      <Fragment key={message.id}>
        {(before === undefined || formatDay(before.createdAt) !== day) && <p className={styles.day}>{day}</p>}
        <Written message={message} isOwn={message.sender.id === userId} asModerator={asModerator} />
      </Fragment>
    );
  });
}

interface WrittenProps {
  message: Message;
  isOwn: boolean;
  asModerator: boolean;
}

const sides = { buyer: "Buyer", bidder: "Bidder" };

function Written({ message, isOwn, asModerator }: WrittenProps) {
  const { sender, role, text, files, createdAt } = message;
  return (
    <article className={isOwn ? `${styles.message} ${styles.own}` : styles.message} title={formatExact(createdAt)}>
      <header>
        <b>{isOwn ? "You" : <bdi>{sender.displayName}</bdi>}</b>
        {role === "moderator" ? <Badge tone="warn">Moderator</Badge> : asModerator && <Badge>{sides[role]}</Badge>}
        <time dateTime={createdAt}>{formatTime(createdAt)}</time>
      </header>
      {text !== null && <PlainText text={text} />}
      {files.map((file) => (
        <ShownFile key={file.id} file={file} />
      ))}
    </article>
  );
}

interface Attached {
  key: string;
  name: string;
  bytes: number;
  share: number;
  file: MessageFile | null;
  error: unknown;
}

/** Files that are sent at once, and wait for the message that they are in. */
function useAttachments(bidId: string) {
  const [attached, setAttached] = useState<readonly Attached[]>([]);
  const change = (key: string, changes: Partial<Attached>) =>
    setAttached((all) => all.map((each) => (each.key === key ? { ...each, ...changes } : each)));
  const attach = (files: Iterable<File>) => {
    for (const file of files) {
      const key = crypto.randomUUID();
      setAttached((all) => [...all, { key, name: file.name, bytes: file.size, share: 0, file: null, error: null }]);
      const steps = {
        ...{ id: bidId, init: api.messages.fileInit.mutate, finalize: api.messages.fileFinalize.mutate },
        operation: "messages.fileFinalize",
      };
      putFile(steps, file, (share) => change(key, { share })).then(
        (sent) => change(key, { file: sent.file, share: 1 }),
        (error: unknown) => change(key, { error }),
      );
    }
  };
  const remove = (key: string) => setAttached((all) => all.filter((each) => each.key !== key));
  return { attached, attach, remove, clear: () => setAttached([]) };
}

/** The place to write. Enter sends, with Shift it begins a line; files can be dropped and pasted. */
function Composer({ bidId }: { bidId: string }) {
  const [sent, setSent] = useState(0);
  const { attached, attach, remove, clear } = useAttachments(bidId);
  const done = () => {
    clear();
    setSent(sent + 1);
  };
  const send = useAction("messages.send", api.messages.send.mutate, { draft: `message.${bidId}`, onSuccess: done });
  const failed = attached.find(({ error }) => error !== null);
  const keys = (event: KeyboardEvent<HTMLDivElement>) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    if (!(event.target instanceof HTMLTextAreaElement)) return;
    event.preventDefault();
    event.target.form?.requestSubmit();
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    attach(event.dataTransfer.files);
  };
  const paste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    attach(event.clipboardData.files);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what is dropped and pasted can be attached by the button, too
    <div
      className={styles.composer}
      onKeyDown={keys}
      onPaste={paste}
      onDrop={drop}
      onDragOver={(event) => event.preventDefault()}
    >
      <Form
        action={send}
        operation="messages.send"
        read={(fields) => {
          const fileIds = attached.flatMap(({ file }) => (file === null ? [] : [file.id]));
          if (attached.some(({ file, error }) => file === null && error === null))
            fields.issues.push({ path: "text", message: "The files are still on their way." });
          const text = fields.optionalText("text");
          return { id: bidId, ...(text !== undefined && { text }), ...(fileIds.length > 0 && { fileIds }) };
        }}
        submit="Send"
        beside={<Attach onChoose={attach} />}
      >
        <TextArea key={sent} name="text" label="Message" rows={2} />
        <AttachedFiles attached={attached} onRemove={remove} />
        {failed && <Problem error={failed.error} />}
      </Form>
    </div>
  );
}

interface AttachedFilesProps {
  attached: readonly Attached[];
  onRemove: (key: string) => void;
}

function AttachedFiles({ attached, onRemove }: AttachedFilesProps) {
  if (attached.length === 0) return null;
  return (
    <ul className={styles.attached} aria-label="Attached files">
      {attached.map(({ key, name, bytes, share, file }) => (
        <li key={key}>
          <span dir="auto">{name}</span> <small>{formatBytes(bytes)}</small>
          {file === null && <progress value={share} aria-label={`Uploading ${name}`} />}
          <Button look="quiet" size="small" onClick={() => onRemove(key)}>
            Remove<span className="visually-hidden"> {name}</span>
          </Button>
        </li>
      ))}
    </ul>
  );
}

function Attach({ onChoose }: { onChoose: (files: Iterable<File>) => void }) {
  return (
    <label className={styles.attach}>
      Attach files
      <input
        type="file"
        multiple
        className="visually-hidden"
        onChange={({ currentTarget }) => {
          onChoose([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </label>
  );
}
