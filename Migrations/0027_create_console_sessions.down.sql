-- why: undoes 0027. Administrators sign in to the console again.
DROP TABLE console_sessions;
