-- Run by the image of PostgreSQL when it makes the cluster, as its superuser, whom nothing else here is. One role owns the
-- tables; the other owns nothing, and `countersign migrate up` grants it what the service needs.
\set owner `cat /secrets/owner/password`
\set service `cat /secrets/owner/service-password`
CREATE ROLE countersign_owner LOGIN PASSWORD :'owner';
ALTER DATABASE countersign OWNER TO countersign_owner;
CREATE ROLE countersign LOGIN PASSWORD :'service';
