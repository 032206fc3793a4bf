-- The search of GET /tasks: newest first, whatever is filtered.
--
-- An index in the feed's order is slow for what is rare, and an index by tag, title or budget is slow for what is
-- frequent, because all its matches have to be fetched to find the newest. So there is one inverted index over
-- everything that can be asked for, time included, and a small one over a sample: the sample tells in which stretch of
-- time the newest matches lie, and only rows of that stretch that match everything are fetched. They take the place of
-- three indexes.

-- Terms are kept as 32-bit hashes: small, and fast to compare. A collision costs a row that the search's own filters drop.
CREATE FUNCTION search_hash(terms text[]) RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(hashtext(term)), '{}') FROM unnest(terms) AS term
$$;

-- Titles and queries are compared with composed characters and in one case; upper after lower brings together what has
-- several lower forms, as the two sigmas of Greek. Doing so takes 3 µs, and comparing 0.1: so it is done once, at writing.
ALTER TABLE tasks ADD COLUMN folded_title text NOT NULL GENERATED ALWAYS AS (upper(lower(normalize(title)))) STORED;

-- What a title must have to contain the query: its two characters, or triples that cover it. Two characters are the
-- shortest query, and a script without spaces says much with them. pg_trgm would know neither them nor punctuation.
CREATE FUNCTION search_query_terms(query text) RETURNS integer[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  folded text := upper(lower(normalize(query)));
  last integer := greatest(length(folded) - 2, 1);
  terms integer[] := '{}';
BEGIN
  FOR i IN 1 .. last BY 3 LOOP
    terms := terms || hashtext('q' || substr(folded, i, 3));
  END LOOP;
  RETURN terms || hashtext('q' || substr(folded, last, 3));
END $$;

-- Everything that can be asked of a task. Budgets and times stand at several scales, each sixteen times the one before,
-- so that any range is a few terms. server/procedures/tasks/search.ts
-- asks in the same words. No function of ours is called in here: index builds and ANALYZE run with a search path on which
-- they cannot be found.
CREATE FUNCTION task_search_terms(folded text, tags text[], budget integer, status text, created_at timestamptz)
RETURNS integer[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 100000 AS $$
DECLARE
  size integer := length(folded);
  seconds bigint := floor(extract(epoch FROM created_at - to_timestamp(0)));
  terms integer[] := ARRAY[hashtext('s' || status)];
BEGIN
  FOR i IN 1 .. coalesce(array_length(tags, 1), 0) LOOP
    terms := terms || hashtext('t' || tags[i]);
  END LOOP;
  FOR scale IN 0 .. 7 LOOP
    terms := terms || hashtext('b' || scale || ':' || (budget >> (4 * scale)));
  END LOOP;
  FOR scale IN 2 .. 8 LOOP
    terms := terms || hashtext('c' || scale || ':' || (seconds >> (4 * scale)));
  END LOOP;
  FOR i IN 1 .. size - 1 LOOP
    terms := terms || hashtext('q' || substr(folded, i, 2));
    IF i < size - 1 THEN
      terms := terms || hashtext('q' || substr(folded, i, 3));
    END IF;
  END LOOP;
  RETURN terms;
END $$;

-- New rows wait in a short list until there are some dozens of them to be sorted in at once, which makes writing cheap;
-- every search reads that list, so it is kept far below its default of 4 MB.
CREATE INDEX tasks_search_idx ON tasks
  USING gin (task_search_terms(folded_title, tags, max_budget_cents, status, created_at)) WITH (gin_pending_list_limit = 128);

-- The same of one task in 128, at random: its matches tell a search at little cost how far back it has to look.
CREATE INDEX tasks_search_sample_idx ON tasks
  USING gin (task_search_terms(folded_title, tags, max_budget_cents, status, created_at)) WITH (gin_pending_list_limit = 128)
  WHERE uuid_hash(id) & 127 = 0;

DROP INDEX tasks_tags_idx, tasks_title_idx, tasks_budget_idx;
