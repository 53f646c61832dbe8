-- why: undoes 0002; everybody is signed out.
DROP TABLE sessions;
