-- why: takes back the shared limits.
DROP TABLE rate_limits;
