-- A copy that is refused for good is not made again.

ALTER TABLE uploads ADD COLUMN refusal jsonb;
COMMENT ON COLUMN uploads.refusal IS
  'the error that refused the copy for good, as {code, details}; whoever finalises the upload again gets it without a copy';
