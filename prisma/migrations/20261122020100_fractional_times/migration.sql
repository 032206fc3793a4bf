-- A bid's hours have up to two decimals, from 0.01 to 8760. A sample's duration is whatever number the client declared.
ALTER TABLE bids ALTER COLUMN eta_hours TYPE numeric(6, 2);
ALTER TABLE uploads ALTER COLUMN duration_sec TYPE double precision;
