-- Whoever looks at their sessions recognises their own. Sessions that began before have neither.

ALTER TABLE sessions
  ADD COLUMN user_agent text CHECK (char_length(user_agent) <= 300),
  ADD COLUMN address text CHECK (char_length(address) <= 64);
COMMENT ON COLUMN sessions.user_agent IS 'the User-Agent of the request that signed in, at most its first 300 characters';
COMMENT ON COLUMN sessions.address IS 'the address that it came from; of IPv6, the network';
