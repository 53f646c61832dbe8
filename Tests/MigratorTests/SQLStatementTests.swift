import TestSupport
import Testing

@testable import Migrator

@Suite struct SQLStatementTests {
    /// What is found in scripts.
    private struct Scripts: Decodable {
        let statements: [String: [String]]
        let concurrentIndexes: [String: [String]]
        let relations: [String: [String]]
        let functions: [String: [String]]
    }

    private static let scripts = Result { try DataFile("Fixtures/scripts.json").decoded(as: Scripts.self) }

    @Test(arguments: try scripts.get().statements)
    func `a script is cut at the semicolons that end statements`(script: String, statements: [String]) {
        #expect(SQLStatement.split(script).map(\.text) == statements)
    }

    @Test(arguments: try scripts.get().concurrentIndexes)
    func `the indexes that a script builds concurrently are known by name`(script: String, names: [String]) {
        #expect(MigrationScript(text: script).concurrentIndexes == names)
    }

    @Test(arguments: try scripts.get().relations)
    func `the tables, views and sequences that a script creates are known by name`(script: String, names: [String]) {
        #expect(MigrationScript(text: script).relations == names)
    }

    @Test(arguments: try scripts.get().functions)
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
