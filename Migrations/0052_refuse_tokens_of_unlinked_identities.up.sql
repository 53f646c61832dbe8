-- why: what refuses an identity's tokens from before everybody was signed out stands in its row. Once that was unlinked, or
-- deleted with its account, a captured token was good for a ticket again. The moment stays for as long as such a token may be
-- good, under a digest, so that the subject of who was deleted is not there.
CREATE TABLE refused_tokens (
    subject_digest bytea PRIMARY KEY CHECK (octet_length(subject_digest) = 32),
    not_before timestamptz NOT NULL
);
