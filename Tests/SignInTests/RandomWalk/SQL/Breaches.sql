-- What breaks each invariant of WalkInvariant and each rule of WalkFeed, which an operator would have to run by hand.

-- name: oneIdentityOfAProvider
ALTER TABLE identities DROP CONSTRAINT identities_account_provider_key;
UPDATE identities SET account_id = (SELECT account_id FROM identities WHERE subject = 'kim');

-- name: sessionOfLinkedIdentity
DELETE FROM identities WHERE subject = 'kim';

-- name: sessionOfActiveAccount
UPDATE accounts SET status = 'disabled';

-- name: linkOfActiveAccount
INSERT INTO oauth_clients (client_id, name, redirect_uris, assertion_audiences, require_pkce,
    rotate_refresh, streamlined_create, introspect, status, secret_hash, created_at)
VALUES ('lamps', 'Lamps', '{}', '{}', false, false, false, false, 'active', sha256(''), now());
INSERT INTO oauth_grants (grant_id, account_id, client_id, scopes, linked_at)
SELECT account_id, account_id, 'lamps', '{profile}', created_at FROM accounts;
UPDATE accounts SET status = 'disabled';

-- name: wayIn
DELETE FROM identities;
UPDATE accounts SET email_verified = false;

-- name: passwordWithAddress
UPDATE accounts SET password_hash = 'x';

-- name: grantOfItsHolder
INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
    prefix_fingerprint, digest_fingerprint, created_at, identity_id)
SELECT gen_random_uuid(), provider, realm, subject, 'lamp', '', '', '', created_at, identity_id
FROM identities;
UPDATE provider_grants SET subject = 'nobody';

-- name: grantInForce
INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
    prefix_fingerprint, digest_fingerprint, created_at, identity_id)
SELECT gen_random_uuid(), provider, realm, subject, 'lamp', '', '', '', created_at, identity_id
FROM identities;

-- name: revocationUnderWay
UPDATE identities SET authorization_status = 'revoking';

-- name: doneHoldsNothing
INSERT INTO outbox (message_id, kind, status, provider, realm, subject, next_attempt_at, created_at,
    finished_at)
SELECT identity_id, 'revocation', 'done', provider, realm, subject, created_at, created_at, created_at
FROM identities;
INSERT INTO provider_grants (grant_id, provider, realm, subject, client_id, sealed_refresh_token,
    prefix_fingerprint, digest_fingerprint, created_at, revocation_id)
SELECT gen_random_uuid(), provider, realm, subject, 'lamp', '', '', '', created_at, identity_id
FROM identities;

-- name: oneOwnerOfAnAddress
ALTER TABLE accounts DROP CONSTRAINT accounts_email_key;
UPDATE accounts SET email = 'kim@example.com';

-- name: sessionLineage
ALTER TABLE sessions DROP CONSTRAINT sessions_lineage_ordered;
UPDATE sessions SET parent_generation = 2;

-- name: provenAddress
UPDATE accounts SET email = account_id || '@example.com', email_verified = true, email_proof = 'proven';

-- name: seenWays
INSERT INTO walk_entries (account_id, number, entered_in, shown)
SELECT account_id, nextval('walk_order'), pg_current_xact_id(), '{}' FROM accounts;

-- name: numbers
UPDATE unstamped_events SET sequence = sequence + 1;

-- name: existence
DELETE FROM accounts;

-- name: status
UPDATE accounts SET status = 'disabled';

-- name: address
INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
SELECT gen_random_uuid(), 'account.email_changed', account_id, 9, '{"emailProof":"claimed"}', now() FROM accounts;

-- name: changes
UPDATE accounts SET password_hash = 'x';

-- name: identities
DELETE FROM identities WHERE subject = 'kim';

-- name: clients
INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
SELECT gen_random_uuid(), 'client.linked', account_id, 9, '{"clientId":"lamps"}', now() FROM accounts;

-- name: sessions
UPDATE sessions SET ended_at = now(), end_reason = 'signed_out';

-- name: lastWord
INSERT INTO unstamped_events (event_id, type, account_id, sequence, members, happened_at)
SELECT gen_random_uuid(), 'account.deleted', account_id, 0, '{}', now() FROM accounts;
