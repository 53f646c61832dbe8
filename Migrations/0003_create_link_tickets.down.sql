-- why: undoes 0003; open tickets are lost, their owners sign in again.
DROP TABLE link_tickets;
