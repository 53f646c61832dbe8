-- why: undoes 0041. Sessions that are older than a restore get such a successor again.
DROP TABLE restores;
