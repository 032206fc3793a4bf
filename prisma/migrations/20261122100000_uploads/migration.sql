-- What an upload is called and contains, who is finalising it, and which uploads were never finished.

ALTER TABLE uploads
  ADD COLUMN file_name text,
  ADD COLUMN finished boolean NOT NULL DEFAULT false,
  ADD COLUMN sealed_key text,
  ADD COLUMN sealing_until timestamptz(6);
COMMENT ON COLUMN uploads.finished IS 'whether there is an artifact, so that a sweep and a finalisation meet on this row';
COMMENT ON COLUMN uploads.sealed_key IS 'where the request that is finalising the upload puts the copy';
COMMENT ON COLUMN uploads.sealing_until IS
  'the end of that request''s lease, which it extends while it lives; an expired lease is never extended';
UPDATE uploads SET finished = true WHERE EXISTS (SELECT FROM artifacts WHERE upload_key = uploads.storage_key);
CREATE INDEX uploads_unfinished_idx ON uploads (created_at) WHERE NOT finished;

ALTER TABLE artifacts
  ADD COLUMN detected_mime_type text,
  ADD COLUMN mime_type_differs boolean NOT NULL DEFAULT false,
  ADD COLUMN detected_width integer,
  ADD COLUMN detected_height integer,
  ADD COLUMN detected_duration_sec double precision;
COMMENT ON COLUMN artifacts.mime_type_differs IS 'whether the bytes are something else than was declared';
