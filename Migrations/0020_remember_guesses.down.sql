-- why: takes back the memory of wrong tries. Codes of ten digits and those of a second link ticket end with it.
ALTER TABLE outbox DROP COLUMN known_network;

DROP TABLE mailed_code_networks;

DROP TABLE mailed_codes;

DROP TABLE guessed_addresses;
