import Testing

@testable import Migrator

@Suite struct SQLStatementTests {
    @Test(
        arguments: [
            ("SELECT 1; SELECT 2", ["SELECT 1", " SELECT 2"]),
            ("SELECT 1;\n", ["SELECT 1"]),
            ("-- why; because\nSELECT 1;", ["-- why; because\nSELECT 1"]),
            ("/* a; /* b; */ c; */ SELECT 1;", ["/* a; /* b; */ c; */ SELECT 1"]),
            ("SELECT ';'; SELECT 'it''s; fine';", ["SELECT ';'", " SELECT 'it''s; fine'"]),
            ("SELECT 'a\\'; SELECT 2;", ["SELECT 'a\\'", " SELECT 2"]),
            ("SELECT E'a\\'; b'; SELECT 2;", ["SELECT E'a\\'; b'", " SELECT 2"]),
            ("SELECT date'a\\'; SELECT 2;", ["SELECT date'a\\'", " SELECT 2"]),
            ("SELECT \"a;b\";", ["SELECT \"a;b\""]),
            ("DO $$ BEGIN; END $$; SELECT 1;", ["DO $$ BEGIN; END $$", " SELECT 1"]),
            ("DO $x$ $$; $x $x$; SELECT 1;", ["DO $x$ $$; $x $x$", " SELECT 1"]),
            ("PREPARE p AS SELECT $1; SELECT $2;", ["PREPARE p AS SELECT $1", " SELECT $2"]),
            ("SELECT a$b; SELECT c$b;", ["SELECT a$b", " SELECT c$b"]),
            (
                "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2);",
                [
                    "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)"
                ]
            ),
            (
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; SELECT 3;",
                [
                    "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END",
                    " SELECT 3",
                ]
            ),
            (";;  ;", []),
            ("-- only a comment", []),
            ("SELECT 'unclosed; SELECT 2;", ["SELECT 'unclosed; SELECT 2;"]),
            ("SELECT 1 /* unclosed", ["SELECT 1 /* unclosed"]),
        ] as [(String, [String])])
    func `a script is cut at the semicolons that end statements`(script: String, statements: [String]) {
        #expect(SQLStatement.split(script).map(\.text) == statements)
    }

    @Test(
        arguments: [
            ("CREATE INDEX CONCURRENTLY a ON t (x);", ["a"]),
            ("-- why\ncreate unique index concurrently if not exists \"B;c\" on t (x); SELECT 1;", ["\"B;c\""]),
            ("CREATE INDEX CONCURRENTLY ON t (x);", []),
            ("CREATE INDEX a ON t (x);", []),
            ("DROP INDEX CONCURRENTLY IF EXISTS a;", []),
            ("CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON t (x); CREATE INDEX CONCURRENTLY b ON t (y);", ["a", "b"]),
        ] as [(String, [String])])
    func `the indexes that a script builds concurrently are known by name`(script: String, names: [String]) {
        #expect(MigrationScript(text: script).concurrentIndexes == names)
    }

    @Test(
        arguments: [
            ("CREATE TABLE a (x int); create unlogged table if not exists B (x int);", ["a", "b"]),
            ("CREATE TABLE \"A b\" (x int);", ["A b"]),
            ("CREATE TABLE a PARTITION OF b DEFAULT;", ["a"]),
            (
                "CREATE OR REPLACE VIEW v AS SELECT 1; CREATE MATERIALIZED VIEW m AS SELECT 1; CREATE SEQUENCE s;",
                ["v", "m", "s"]
            ),
            (
                "CREATE INDEX a ON t (x); CREATE FUNCTION f() RETURNS TABLE (x int) LANGUAGE sql AS $$CREATE TABLE b ()$$;",
                []
            ),
            ("ALTER TABLE a ADD COLUMN b int; DROP TABLE c; -- CREATE TABLE d ()", []),
        ] as [(String, [String])])
    func `the tables, views and sequences that a script creates are known by name`(script: String, names: [String]) {
        #expect(MigrationScript(text: script).relations == names)
    }

    @Test(
        arguments: [
            ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;", ["f"]),
            ("create or replace function \"G g\"(int) RETURNS int LANGUAGE sql AS $$CREATE FUNCTION h()$$;", ["G g"]),
            ("CREATE TABLE a (x int); DROP FUNCTION f(); -- CREATE FUNCTION d()", []),
        ] as [(String, [String])])
    func `the functions that a script creates are known by name`(script: String, names: [String]) {
        #expect(MigrationScript(text: script).functions == names)
    }

    @Test(
        arguments: [
            ("SELECT 1; COMMIT;", "COMMIT"), ("begin; SELECT 1;", "BEGIN"), ("ROLLBACK;", "ROLLBACK"),
            ("PREPARE TRANSACTION 'x';", "PREPARE TRANSACTION"), ("start transaction;", "START"), ("END;", "END"),
            ("ROLLBACK TO SAVEPOINT a;", nil), ("PREPARE p AS SELECT 1;", nil), ("-- COMMIT;\nSELECT 'COMMIT;'", nil),
            ("DO $$ BEGIN PERFORM 1; END $$;", nil),
        ] as [(String, String?)])
    func `a statement that would end the transaction is seen`(script: String, word: String?) {
        #expect(MigrationScript(text: script).transactionControl == word)
    }

    @Test func `only the first line takes a script out of its transaction`() {
        #expect(!MigrationScript(text: "-- no-transaction: the table is large\nSELECT 1;").isTransactional)
        #expect(MigrationScript(text: "-- why\n-- no-transaction\nSELECT 1;").isTransactional)
    }
}
