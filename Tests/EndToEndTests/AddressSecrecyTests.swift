import Postgres
import TestSupport
import Testing

/// No answer reveals whether an address has an account: status, fields and bytes are the same. That the time is the
/// same too is measured by `Scripts/bench oracle`.
@Suite(
    .limitedConcurrency,
    .mailedWorld(["limits.mailPerAddress": "0", "limits.guessPerNetwork": "0", "limits.passwordPerAccount": "0"]),
    .timeLimit(.minutes(30)))
struct AddressSecrecyTests: WorldSuite {
    /// One address for each relation to an account, and one without an account.
    private static func addresses(_ world: World, _ name: String) async throws -> [String] {
        for kind in ["proven", "stated", "disabled", "mover"] { _ = try await world.newAccount("\(name)-\(kind)") }
        #expect(try await world.register("\(name)-claimed@example.com").status == 201)
        try await world.scratch.execute(
            """
            UPDATE accounts
            SET email_proof = 'proven', email_proof_source = 'mailed_code'
            WHERE email IN (\("\(name)-proven@example.com"), \("\(name)-disabled@example.com"))
            """,
            "UPDATE accounts SET status = 'disabled' WHERE email = \("\(name)-disabled@example.com")",
            """
            UPDATE accounts
            SET pending_email = \("\(name)-pending@example.com"), pending_email_expires_at = '2100-01-01Z'
            WHERE email = \("\(name)-mover@example.com")
            """)
        return ["proven", "stated", "disabled", "claimed", "pending", "unknown"].map { "\(name)-\($0)@example.com" }
    }

    /// Expects the same answer for each address, and returns its status.
    private static func same(
        _ addresses: [String], sourceLocation: SourceLocation = #_sourceLocation,
        _ call: (String) async throws -> Answer
    ) async throws -> Int {
        var answers: Set<String> = []
        var status = 0
        for address in addresses {
            let answer = try await call(address)
            status = answer.status
            answers.insert(answer.withoutRequestID)
        }
        #expect(answers.count == 1, "\(answers)", sourceLocation: sourceLocation)
        return status
    }

    @Test func `asking for a code reveals nothing`() async throws {
        let addresses = try await Self.addresses(world, "ask")
        let ticket = try await world.ticket("ask-google", email: "ask-google@gmail.com")
        for purpose in ["signIn", "resetPassword", "verifyEmail", "bind"] {
            let status = try await Self.same(addresses) {
                try await world.askForCode(purpose, $0, ticket: purpose == "bind" ? ticket : nil)
            }
            #expect(status == 202)
        }
        #expect(try await world.count("SELECT count(*) FROM mailed_codes WHERE email LIKE 'ask-%'") == 24)
    }

    @Test(.mailedWorld(["limits.mailPerAddress": "6/h", "server.trustedProxies": "127.0.0.1"]))
    func `who has asked for as many codes as an address may have learns of none that is live`() async throws {
        let (owned, unknown) = ("drained-owned@example.com", "drained-unknown@example.com")
        #expect(try await world.register(owned).status == 201)
        func ask(
            _ purpose: String, _ email: String, ticket: String? = nil, from address: String = "198.51.100.7"
        ) async throws -> Answer {
            let members: TokenMint.Members = ["email": .string(email), "purpose": .string(purpose)]
            return try await service.post(
                "/v1/email-codes", members.with("linkTicket", ticket.map { .string($0) }),
                headers: [("X-Forwarded-For", address)])
        }
        let begun = try await Self.same([owned, unknown]) { try await ask("resetPassword", $0) }
        #expect(begun == 202)
        // The owner uses what was asked for elsewhere, and asks for a code at home.
        let code = try await world.code(1, mailedTo: owned)
        try await service.post(
            "/v1/accounts/password-reset",
            ["email": .string(owned), "code": .string(code), "newPassword": "another horse battery"]
        ).expecting(204)
        try await ask("signIn", owned, from: "203.0.113.7").expecting(202)
        var tickets: [String] = []
        for number in 0..<5 { tickets.append(try await world.ticket("drained-\(number)")) }
        for email in [owned, unknown] {
            try await ask("verifyEmail", email).expecting(202)
            for ticket in tickets.dropLast() { try await ask("bind", email, ticket: ticket).expecting(202) }
        }
        let made: SQL = "SELECT count(*) FROM mailed_codes WHERE email LIKE 'drained-%'"
        #expect(try await world.count(made) == 12)
        // A code of the first is live, one of the second, and none of either.
        let asked: [(String, String?)] = [("signIn", nil), ("resetPassword", nil), ("bind", tickets.last)]
        for (purpose, ticket) in asked {
            let status = try await Self.same([owned, unknown]) { try await ask(purpose, $0, ticket: ticket) }
            #expect(status == 202)
        }
        #expect(try await world.count(made) == 12)
        try await eventually("the refusals in the trail") {
            try await world.count(
                """
                SELECT COALESCE(sum(occurrences), 0) FROM audit_events
                WHERE type = 'rate_limited' AND reason = 'mailPerAddress'
                """) == 5
        }
    }

    @Test(arguments: [false, true]) func `a wrong code reveals nothing`(hasBeenMailed: Bool) async throws {
        let name = hasBeenMailed ? "mailed" : "unasked"
        let addresses = try await Self.addresses(world, name)
        let ticket = try await world.ticket("\(name)-google", email: "\(name)-google@gmail.com")
        if hasBeenMailed {
            for purpose in ["signIn", "resetPassword", "bind"] {
                for address in addresses {
                    let answer = try await world.askForCode(purpose, address, ticket: purpose == "bind" ? ticket : nil)
                    #expect(answer.status == 202)
                }
            }
        }
        let calls: [(String) async throws -> Answer] = [
            { try await service.post("/v1/sign-in/email-code", ["email": .string($0), "code": "x23456"]) },
            {
                try await service.post(
                    "/v1/accounts/password-reset",
                    ["email": .string($0), "code": "x23456", "newPassword": "another horse battery"])
            },
            {
                try await service.post(
                    "/v1/links/bind", ["linkTicket": .string(ticket), "email": .string($0), "emailCode": "x23456"])
            },
        ]
        for call in calls {
            // As many tries as a code has, and more.
            for _ in 0..<6 { #expect(try await Self.same(addresses + ["no address"], call) == 401) }
        }
    }

    @Test func `a wrong password reveals nothing, neither at a sign-in nor at a bind`() async throws {
        let addresses = try await Self.addresses(world, "guess")
        let ticket = try await world.ticket("guess-google", email: "guess-google@gmail.com")
        let signIn = try await Self.same(addresses + ["no address"]) {
            try await world.signIn($0, password: "a wrong password")
        }
        let bind = try await Self.same(addresses) {
            try await service.post(
                "/v1/links/bind",
                ["linkTicket": .string(ticket), "email": .string($0), "password": "a wrong password"])
        }
        #expect([signIn, bind] == [401, 401])
    }

    @Test func `only the holder of an address is mailed`() async throws {
        let addresses = try await Self.addresses(world, "heard")
        for address in addresses {
            for purpose in ["signIn", "verifyEmail"] { _ = try await world.askForCode(purpose, address) }
        }
        try await eventually("an empty outbox") {
            try await world.count("SELECT count(*) FROM outbox WHERE recipient LIKE 'heard-%'") == 0
        }
        // Beside the mail about an account that Apple's word gave the address: stated, claimed and pending addresses may
        // be verified. A mail arrives a little after its row has left the outbox.
        var counts: [Int] = []
        try await eventually("ten mails") {
            counts = try addresses.map { try world.mailbox($0).count }
            return counts.reduce(0, +) >= 10
        }
        #expect(counts == [2, 3, 2, 2, 1, 0])
    }
}
