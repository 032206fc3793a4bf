-- The span in which an event was recorded, in the form of W3C Trace Context, so that its deliveries belong to the same trace.
ALTER TABLE events ADD COLUMN trace_parent text;
