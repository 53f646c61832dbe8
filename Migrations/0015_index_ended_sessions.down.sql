-- why: takes back the index of ended sessions.
DROP INDEX sessions_ended_idx;
