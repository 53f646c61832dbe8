-- Tables of other systems, as their own migrations make them. What begins with a colon is put in by the test.
-- name: supabase
CREATE SCHEMA auth;
CREATE TABLE auth.users (id uuid PRIMARY KEY, email text, encrypted_password text, email_confirmed_at timestamptz,
    raw_user_meta_data jsonb, created_at timestamptz, banned_until timestamptz, deleted_at timestamptz,
    is_anonymous boolean NOT NULL DEFAULT false, raw_app_meta_data jsonb DEFAULT '{"roles"::nested}');
CREATE TABLE auth.identities (:subject, user_id uuid, identity_data jsonb, created_at timestamptz);
INSERT INTO auth.users VALUES
    ('00000000-0000-0000-0000-000000000001', 'kim@example.com', ':hash', '2024-01-01Z',
        '{"full_name":"Kim","settings"::nested}', '2024-05-06T07:08:09Z', NULL, NULL),
    ('00000000-0000-0000-0000-000000000002', 'lee@example.com', '', NULL,
        '{"full_name":{"first":"Lee"},"name":"Lee"}', '2024-05-06T07:08:10Z',
        '2999-01-01Z', NULL),
    ('00000000-0000-0000-0000-000000000003', 'gone@example.com', NULL, NULL, '{}', '2024-05-06T07:08:11Z', NULL,
        '2024-06-01Z'),
    ('00000000-0000-0000-0000-000000000004', 'ada@example.com', '{"key_id":"x"}', '2024-01-01Z', '{}',
        '2024-05-06T07:08:12Z', '2024-06-01Z', NULL);
INSERT INTO auth.users (id, created_at, is_anonymous)
    VALUES ('00000000-0000-0000-0000-000000000005', '2024-05-06T07:08:13Z', true);
INSERT INTO auth.identities (:column, provider, user_id, identity_data, created_at) VALUES
    ('001.kim', 'apple', '00000000-0000-0000-0000-000000000001', '{"sub":"001.kim"}', '2024-05-06Z'),
    ('109', 'google', '00000000-0000-0000-0000-000000000001', '{"sub":"109","email":"kim@gmail.com","custom_claims"::nested}',
        '2024-05-06Z'),
    ('x', 'email', '00000000-0000-0000-0000-000000000002', '{}', '2024-05-06Z'),
    ('7', 'github', '00000000-0000-0000-0000-000000000002', '{}', '2024-05-06Z'),
    ('001.ada', 'custom:siwa', '00000000-0000-0000-0000-000000000004', '{}', '2024-05-06Z');
-- name: allauth
CREATE TABLE auth_user (id integer PRIMARY KEY, password varchar(128), is_active boolean, username varchar(150),
    first_name varchar(150), last_name varchar(150), email varchar(254), date_joined timestamptz);
CREATE TABLE account_emailaddress (id integer PRIMARY KEY, email varchar(254), verified boolean, "primary" boolean,
    user_id integer);
CREATE TABLE socialaccount_socialaccount (id integer PRIMARY KEY, provider varchar(200), uid varchar(191),
    last_login timestamptz, date_joined timestamptz, extra_data :json, user_id integer);
INSERT INTO auth_user VALUES
    (1, 'pbkdf2_sha256$390000$seasalt$8xBlGd3jVgvJ+92hWPxi5ww0uuAuAnKgC45eudxro7c=', true, 'kim', 'Kim', 'Example',
        'kim@old.example', '2024-05-06T07:08:09Z'),
    (2, '!unusable', false, 'lee', '', '', 'lee@example.com', '2024-05-06T07:08:10Z');
INSERT INTO account_emailaddress VALUES (1, 'other@example.com', true, false, 1), (2, 'kim@example.com', true, true, 1);
INSERT INTO socialaccount_socialaccount VALUES
    (1, 'google', '109', '2024-05-06Z', '2024-05-06Z', '{"email":"kim@gmail.com","verified_email":true}', 1),
    (2, 'siwa', '001.kim', '2024-05-06Z', '2024-05-06Z', '"{}"', 1),
    (3, 'github', '7', '2024-05-06Z', '2024-05-06Z', '{}', 2),
    (4, 'discord', '9', '2024-05-06Z', '2024-05-06Z', '{"guilds"::nested,"email":"lee@discord.example"}', 2),
    (5, 'steam', '11', '2024-05-06Z', '2024-05-06Z', jsonb_build_object('games', repeat('x', 1100000))::text:::json, 2);
-- name: better-auth
CREATE TABLE "user" (id text PRIMARY KEY, name text, email text, :emailVerified boolean,
    :createdAt timestamp, banned boolean, :banExpires timestamp, preferences json);
CREATE TABLE account (id text PRIMARY KEY, :accountId text,
    :providerId text, :userId text, password text,
    :createdAt timestamp);
INSERT INTO "user" VALUES
    ('b1', 'Kim', 'kim@example.com', true, '2024-05-06T07:08:09.123', true, '2024-05-07',
        '{"theme":"\u0000"}'),
    ('b2', 'Lee', 'lee@example.com', false, '2024-05-06T07:08:10', true, NULL, '["\ud800"]');
INSERT INTO account VALUES ('a1', '001.kim', 'apple', 'b1', NULL, '2024-05-06'),
    ('a2', 'b1', 'credential', 'b1', ':hash', '2024-05-06'), ('a3', '7', 'github', 'b2', NULL, '2024-05-06'),
    ('a4', '109', 'workspace', 'b2', NULL, '2024-05-06');
-- name: long-rows
CREATE TABLE "user" (id text PRIMARY KEY, name text, email text, "emailVerified" boolean, "createdAt" timestamptz);
CREATE TABLE account (id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text,
    password text, "createdAt" timestamptz);
INSERT INTO "user"
SELECT 'b' || length, 'Kïm ' || length || repeat(U&'\00A0', length), 'b' || length || '@example.com', true,
    '2024-05-06T07:08:09Z'
FROM unnest(ARRAY[1, 16200, 16384, 40000, 500000, 530000]) AS l (length)
-- name: more-than-two-fetches
CREATE TABLE "user" (id text PRIMARY KEY, name text, email text, "emailVerified" boolean, "createdAt" timestamptz);
CREATE TABLE account (id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text, password text,
    "createdAt" timestamptz);
INSERT INTO "user"
SELECT 'b' || to_char(n, 'FM0000'), 'Before', 'b' || to_char(n, 'FM0000') || '@example.com', true, '2024-05-06Z'
FROM generate_series(1, 700) n;
INSERT INTO account
SELECT 'a' || u.id, 'before-' || u.id, 'google', u.id, NULL, '2024-05-06Z' FROM "user" u;
-- name: volatile-view
CREATE TABLE people (id text PRIMARY KEY, name text, email text, "emailVerified" boolean, "createdAt" timestamptz);
INSERT INTO people VALUES ('b1', 'Kim', 'kim@example.com', true, '2024-05-06Z');
CREATE TABLE account (id text PRIMARY KEY, "accountId" text, "providerId" text, "userId" text, password text,
    "createdAt" timestamptz);
CREATE TABLE readings (at timestamptz);
CREATE FUNCTION note() RETURNS boolean LANGUAGE sql VOLATILE AS 'INSERT INTO readings VALUES (now()) RETURNING true';
CREATE VIEW "user" AS SELECT * FROM people WHERE note();
-- name: google-and-passwords
CREATE SCHEMA auth;
CREATE TABLE auth.users (id text PRIMARY KEY, email text, encrypted_password text,
    email_confirmed_at timestamptz, raw_user_meta_data jsonb, created_at timestamptz,
    banned_until timestamptz, deleted_at timestamptz, is_anonymous boolean NOT NULL DEFAULT false);
CREATE TABLE auth.identities (id text, provider text, provider_id text, user_id text, identity_data jsonb,
    created_at timestamptz);
INSERT INTO auth.users VALUES
    ('u1', 'kim@example.com', '$2y$04$mIJxfrCaEI3GukZe11CiXublhEFanu5.ododkll1WphfSp6pn4zIu', '2024-01-01Z', '{}', '2024-05-06Z'),
    ('u2', NULL, NULL, NULL, '{}', '2024-05-06Z'), ('u3', 'lee@example.com', '', NULL, '{}', '2024-05-06Z');
INSERT INTO auth.identities VALUES
    ('i1', 'apple', '001.kim', 'u1', '{}', '2024-05-06Z'), ('i2', 'google', '109', 'u1', '{}', '2024-05-06Z'),
    ('i3', 'google', '110', 'u2', '{}', '2024-05-06Z'), ('i4', 'google', '111', 'u3', '{}', '2024-05-06Z');
