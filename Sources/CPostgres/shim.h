#pragma once

#include <libpq-fe.h>
#include <sys/eventfd.h>

// libpq spells its error fields as character macros, which Swift cannot import.
static const int countersign_diag_severity = PG_DIAG_SEVERITY_NONLOCALIZED;
static const int countersign_diag_sqlstate = PG_DIAG_SQLSTATE;
static const int countersign_diag_message_primary = PG_DIAG_MESSAGE_PRIMARY;
static const int countersign_diag_constraint_name = PG_DIAG_CONSTRAINT_NAME;
static const int countersign_diag_table_name = PG_DIAG_TABLE_NAME;
static const int countersign_diag_source_file = PG_DIAG_SOURCE_FILE;
static const int countersign_diag_source_function = PG_DIAG_SOURCE_FUNCTION;
