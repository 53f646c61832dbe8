-- why: sessions that have ended are swept by it. A refresh changes no column of it, so it stays as cheap as it was.
CREATE INDEX sessions_ended_idx ON sessions (ended_at) WHERE ended_at IS NOT NULL;
