-- why: undoes 0022. Replacements that are not in effect yet are forgotten; those that are stay.
DROP TABLE email_replacements;
