-- Tags are kept as their author wrote them. Two tags are the same if they are equal in composed characters and a single
-- case, which is also how the search compares titles (tasks.folded_title). Only the database folds tags, so that what is
-- stored, what is indexed and what is asked for cannot differ.

CREATE FUNCTION fold_tags(tags text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  folded text[] := '{}';
  tag text;
BEGIN
  FOREACH tag IN ARRAY tags LOOP
    folded := array_append(folded, upper(lower(normalize(tag))));
  END LOOP;
  RETURN folded;
END $$;

-- Of tags that are the same, keeps the first as it was written.
CREATE FUNCTION distinct_tags(tags text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  folded text[] := fold_tags(tags);
  kept text[] := '{}';
BEGIN
  FOR i IN 1 .. cardinality(tags) LOOP
    IF array_position(folded, folded[i]) = i THEN
      kept := array_append(kept, tags[i]);
    END IF;
  END LOOP;
  RETURN kept;
END $$;

-- Dropped first, so that the new column's rewrite of the table does not build them as they were.
DROP INDEX tasks_search_idx, tasks_search_sample_idx;

ALTER TABLE tasks ADD COLUMN folded_tags text[] NOT NULL GENERATED ALWAYS AS (fold_tags(tags)) STORED;

CREATE INDEX tasks_search_idx ON tasks
  USING gin (task_search_terms(folded_title, folded_tags, max_budget_cents, status, created_at))
  WITH (gin_pending_list_limit = 128);
CREATE INDEX tasks_search_sample_idx ON tasks
  USING gin (task_search_terms(folded_title, folded_tags, max_budget_cents, status, created_at))
  WITH (gin_pending_list_limit = 128)
  WHERE uuid_hash(id) & 127 = 0;
