-- The search behind GET /tasks, which returns the newest matches first whatever the filters are.
--
-- An index in the feed's order is slow for rare matches. An index on tags, titles or budgets is slow for frequent ones,
-- because all matches must be fetched to find the newest. So a single inverted index covers everything that can be asked
-- for, time included, and a small one covers a sample. The sample shows in which period the newest matches lie, and only
-- rows of that period that match everything are fetched. See server/market/search.

-- Terms are stored as 32-bit hashes, which are small and fast to compare. A collision costs one extra row, which the
-- search's exact filters drop.
CREATE FUNCTION search_hash(terms text[]) RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT coalesce(array_agg(hashtext(term)), '{}') FROM unnest(terms) AS term
$$;

-- The terms that a title must have to contain the query: its two characters, or overlapping triples that cover it. Two
-- characters are the shortest allowed query, and are a whole word in scripts such as Chinese. pg_trgm is no replacement:
-- it can search for neither pairs nor punctuation.
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

-- All terms of a task. Budgets and times are indexed at several scales, each 16 times coarser than the one before, so that
-- a few terms cover any range. server/market/search builds its queries from the same terms. This function calls none of
-- our own functions, because index builds and ANALYZE run with a search path that does not include them. COST 100000
-- keeps the planner from evaluating it row by row.
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

-- New rows wait in a pending list and are sorted into the index a few dozen at a time, which makes writes cheap. Every
-- search reads that list, so it is limited to 128 kB; the default is 4 MB.
CREATE INDEX tasks_search_idx ON tasks
  USING gin (task_search_terms(folded_title, tags, max_budget_cents, status, created_at)) WITH (gin_pending_list_limit = 128);

-- The same index over a random sample of one task in 128 (SAMPLED_SHARE in server/market/search).
CREATE INDEX tasks_search_sample_idx ON tasks
  USING gin (task_search_terms(folded_title, tags, max_budget_cents, status, created_at)) WITH (gin_pending_list_limit = 128)
  WHERE uuid_hash(id) & 127 = 0;
