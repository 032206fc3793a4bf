-- What a key did is read by its acts. The bids that an award rejects, of which there may be hundreds, only follow from one.
DROP INDEX events_actor_key_idx;
CREATE INDEX events_actor_key_idx ON events (actor_key_id, id) WHERE actor_key_id IS NOT NULL AND type <> 'bid.rejected';
