import Accounts
import Postgres
import TestSupport
import Testing

@testable import Storage

/// The rows of mailed codes and of wrong tries, where several use them at once, know an account or remember longer than a
/// code lives. What the rules of `Accounts` decide step by step is in ``EmailCodeModelTests``.
@Suite(.fixture(EmailCodeWorld.self)) struct EmailCodeStoreTests {
    var world: EmailCodeWorld { .current }

    // MARK: Requests

    @Test func `of twenty requests at once one has a code made, and one has it mailed again`() async throws {
        for (seconds, mails) in [(0, ["1 0"]), (60, ["2 0"]), (120, ["3 0"]), (180, ["3 0"])] as [(Int64, [String])] {
            try await concurrently(0..<20) { _ in try await world.ask(at: seconds) }
            #expect(try await world.mails() == mails)
            #expect(try await world.database.texts("SELECT count(*)::text FROM mailed_codes") == ["1"])
        }
    }

    @Test func `a network that asks in vain is remembered to have asked`() async throws {
        let (mine, other): (Network, Network) = ("192.0.2.0/24", "198.51.100.0/24")
        try await world.ask(network: other)
        #expect(try await world.ask(network: mine) == .nothing)
        for _ in 0..<5 { try await world.attempt(network: other) }
        // The code is not replaced under the hands of the other asker.
        #expect(try await world.ask(network: other, at: 1) == .nothing)
        #expect(try await world.attempt(network: mine, isRight: true) != nil)
    }

    @Test func `who has mistyped a code that only they asked for gets another one`() async throws {
        try await world.ask()
        for _ in 0..<5 { try await world.attempt() }
        #expect(try await world.attempt(isRight: true) == nil)
        #expect(try await world.ask(at: 1) == .issue(onlyIfKnown: false))
        #expect(try await world.attempt(isRight: true, at: 1) != nil)
    }

    @Test func `a request that makes no code takes none away by a clock that is ahead`() async throws {
        try await world.ask()
        func left() async throws -> Int64 { try await world.database.count("mailed_codes") }
        try await world.database.execute(
            "UPDATE mailed_codes SET created_at = clock_timestamp(), expires_at = clock_timestamp() + interval '600 s'")
        #expect(try await world.ask(allowance: .usedUp, at: 3_000_000_000) == .nothing)
        #expect(try await left() == 1)
        #expect(try await world.ask(at: 3_000_000_000) == .issue(onlyIfKnown: false))
        #expect(try await left() == 1)
    }

    // MARK: Tries

    @Test func `of fifty wrong tries at once from one network five are counted, from fifty twenty`() async throws {
        for (purpose, networks, counted) in [(EmailCodePurpose.signIn, 1, "5"), (.resetPassword, 50, "20")] {
            try await world.ask(purpose)
            try await concurrently(0..<50) { try await world.attempt(purpose, network: "10.0.\($0 % networks).0/24") }
            #expect(
                try await world.database.texts(
                    "SELECT tries::text FROM mailed_codes WHERE purpose = \(purpose.rawValue)")
                    == [counted])
        }
        #expect(try await world.database.texts("SELECT wrong_since_success::text FROM guessed_addresses") == ["25"])
        #expect(try await world.store.addressesUnderAttack(by: .at(EmailCodeWorld.start)) == 1)
        #expect(try await world.consume(try #require(try await world.attempt(isRight: true))))
        #expect(try await world.store.addressesUnderAttack(by: .at(EmailCodeWorld.start)) == 0)
    }

    @Test func `when others have used up the code a network that the account is used from has its five`() async throws {
        let home: Network = "203.0.113.0/24"
        try await world.addAccount(from: home)
        try await world.ask()
        try await world.useUp()
        for network in ["10.1.0.0/24", "192.0.2.0/24", nil] as [Network?] {
            #expect(try await world.attempt(network: network, isRight: true) == nil)
        }
        for _ in 0..<4 { #expect(try await world.attempt(network: home) == nil) }
        #expect(try await world.attempt(network: home, isRight: true) != nil)
        // That was the fifth: what has no allowance is counted before it is compared.
        #expect(try await world.attempt(network: home, isRight: true) == nil)
        #expect(try await world.database.texts("SELECT tries::text FROM mailed_codes") == ["20"])
    }

    @Test func `a network is known to no account that has yet to prove the address`() async throws {
        let home: Network = "203.0.113.0/24"
        let id = try await world.addAccount("old@example.com", from: home)
        try await world.ask(.verifyEmail)
        try await world.useUp(.verifyEmail)
        #expect(try await world.attempt(.verifyEmail, network: home, isRight: true) == nil)
        #expect(try await world.attempt(.verifyEmail, network: home, account: id, isRight: true) == nil)
        for proof in ["claimed", "stated", "proven"] {
            try await world.database.execute("DELETE FROM mailed_codes")
            try await world.database.execute("DELETE FROM guessed_addresses")
            try await world.database.execute("DELETE FROM accounts")
            let holder = try await world.addAccount(from: home)
            try await world.database.execute(
                """
                UPDATE accounts
                SET email_proof = \(proof), email_verified = \(proof != "claimed")
                WHERE account_id = \(holder)
                """)
            try await world.ask()
            try await world.useUp()
            let code = try await world.attempt(network: home, isRight: true)
            #expect((code != nil) == (proof == "proven"), "\(proof)")
        }
    }

    // MARK: Memory

    @Test func `what is remembered outlives the line of the key ring that it was written under`() async throws {
        let (old, new) = (EmailCodeWorld.key(1), EmailCodeWorld.key(2))
        try await world.ask(keys: [old])
        try await world.attempt()
        // A process that has the new line first, and one that doesn't yet.
        try await world.ask(.resetPassword, keys: [new, old])
        try await world.attempt(.resetPassword, network: "10.0.0.0/24")
        try await world.attempt(.signIn, network: "10.0.1.0/24")
        #expect(
            try await world.database.texts(
                "SELECT concat_ws('|', get_byte(address_key, 0), wrong_since_success) FROM guessed_addresses")
                == ["2|3"])
        try await world.ask(.verifyEmail, keys: [old, new])
        try await world.attempt(.verifyEmail, network: "10.0.2.0/24")
        try await world.ask(.bind, ticket: 1, keys: [new])
        #expect(
            try await world.database.texts(
                """
                SELECT concat_ws('|', get_byte(address_key, 0), wrong_since_success)
                FROM guessed_addresses
                ORDER BY 1
                """) == ["1|4"])
        #expect(try await world.database.texts("SELECT count(*)::text FROM mailed_codes") == ["4"])
    }

    @Test func `codes go an hour after their end, and wrong tries when they matter no more`() async throws {
        try await world.ask()
        try await world.attempt()
        func sweep(before seconds: Int64) async throws -> Int {
            try await world.store.deleteExpired(before: EmailCodeWorld.time(seconds), limit: 100)
        }
        #expect(try await sweep(before: 600) == 0)
        // The code, its copy, and by a cascade what its network did.
        #expect(try await sweep(before: 601) == 2)
        #expect(try await world.database.texts("SELECT count(*)::text FROM mailed_code_networks") == ["0"])
        // One of thirty tries comes back in a thirtieth of a year.
        #expect(try await sweep(before: 365 * 86_400 / 30) == 0)
        #expect(try await sweep(before: 365 * 86_400 / 30 + 1) == 1)
    }
}
