import { api, type Bid, type Rating, type Task } from "../api/client.ts";
import { useAction } from "../api/useAction.ts";
import { TextArea } from "../parts/fields.tsx";
import { Form } from "../parts/form.tsx";
import { LongText } from "../parts/longText.tsx";
import { Section } from "../parts/page.tsx";
import { Stars } from "../parts/person.tsx";
import { StarsField } from "../parts/starsField.tsx";
import { Time } from "../parts/time.tsx";
import styles from "./ratings.module.css";

/** One side's judgement of the other, after the end. No number of stars is suggested. */
export function Rate({ task, ratee }: { task: Task; ratee: string }) {
  const rate = useAction("tasks.rate", api.tasks.rate.mutate);
  return (
    <Section title={`Rate ${ratee}`} lead="Everybody sees it, and it cannot be changed." card>
      <Form
        action={rate}
        operation="tasks.rate"
        read={(fields) => ({ id: task.id, stars: fields.stars("stars"), comment: fields.text("comment") })}
        submit="Send the rating"
      >
        <StarsField name="stars" label="Stars" />
        <TextArea name="comment" label="Comment" optional rows={3} />
      </Form>
    </Section>
  );
}

export function Ratings({ ratings, task, bid }: { ratings: readonly Rating[]; task: Task; bid: Bid | undefined }) {
  return (
    <Section title="Ratings">
      <div className={styles.ratings}>
        {ratings.map(({ id, role, stars, comment, createdAt }) => (
          <figure key={id}>
            <figcaption>
              <Stars count={stars} /> for{" "}
              <bdi>{role === "buyer" ? task.buyer.displayName : bid?.bidder.displayName}</bdi>, the {role},{" "}
              <Time at={createdAt} />
            </figcaption>
            {comment !== null && <LongText text={comment} />}
          </figure>
        ))}
      </div>
    </Section>
  );
}
