-- Run by the image of PostgreSQL when it makes the cluster. The role owns nothing; `countersign migrate up` grants it
-- what the service needs.
\set password `cat /secrets/owner/service-password`
CREATE ROLE countersign LOGIN PASSWORD :'password';
