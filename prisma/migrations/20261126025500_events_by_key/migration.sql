-- What a key did is read by its owner, newest first. Most events are of sessions and the clock, and have no key.
CREATE INDEX events_actor_key_idx ON events (actor_key_id, id) WHERE actor_key_id IS NOT NULL;
