-- why: undoes 0023. Sign-ins under way in a browser begin again; browsers are signed out.
DROP TABLE web_sessions;

DROP TABLE web_flows;
