import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Reputation } from "../api/client.ts";
import { reputationQuery } from "../api/queries.ts";
import { formatNumber, plural } from "./format.ts";
import styles from "./person.module.css";

interface PersonProps {
  person: { id: string; displayName: string };
  /** Shows the ratings of this side of them. */
  as?: "buyer" | "bidder";
}

/** A person's name, which leads to their reputation. */
export function Person({ person, as }: PersonProps) {
  return (
    <span className={styles.person}>
      <Link to="/users/$userId" params={{ userId: person.id }} className={styles.name}>
        <bdi>{person.displayName}</bdi>
      </Link>
      {as && <Rated id={person.id} as={as} />}
    </span>
  );
}

function Rated({ id, as }: { id: string; as: "buyer" | "bidder" }) {
  const { data } = useQuery(reputationQuery(id));
  return data === undefined ? null : <RatingSummary side={data[as]} />;
}

/** One side's average rating and its number of ratings, in a few characters. */
export function RatingSummary({ side }: { side: Reputation["buyer"] | Reputation["bidder"] }) {
  if (side === null || side.ratingAverage === null) return <small className={styles.unrated}>no ratings yet</small>;
  return (
    <small className={styles.rated}>
      <span aria-hidden="true">★</span> {formatNumber(side.ratingAverage)}
      <span className="visually-hidden"> of 5 stars,</span> ({plural(side.ratingCount, "rating")})
    </small>
  );
}

/** A number of stars, of five. */
export function Stars({ count }: { count: number }) {
  return (
    <span className={styles.stars} role="img" aria-label={`${count} of 5 stars`}>
      {"★".repeat(count)}
      <span>{"★".repeat(5 - count)}</span>
    </span>
  );
}
