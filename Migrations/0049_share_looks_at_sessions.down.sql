-- why: undoes 0049. Each process looks for itself.
DROP TABLE session_looks;
