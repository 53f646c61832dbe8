-- why: takes back the record of used nonces.
DROP TABLE nonces;
