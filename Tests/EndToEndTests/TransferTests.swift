import JSON
import OpenSSL
import Postgres
import TestSupport
import Testing

/// An app that moves to another developer team, with its users.
@Suite(.limitedConcurrency, .fixture(World.self), .timeLimit(.minutes(30))) struct TransferTests: WorldSuite {
    private static let recipient = "RECIPIENT1"
    private static let people = ["kim", "lee", "sam"]

    private func transfer(_ arguments: [String], _ settings: Countersign.Settings) async throws -> Countersign.Ending {
        try await Countersign.run(
            ["apple", "transfer"] + arguments + ["--client-id", Countersign.appleClient, "--rate", "100"], settings)
    }

    /// The subjects of the JSON lines, by identity.
    private func moved(_ ending: Countersign.Ending) throws -> [String: String] {
        let lines = try ending.output.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
        return Dictionary(
            uniqueKeysWithValues: try lines.map { line in
                (try #require(line["identityId"]?.string), try #require(line["subject"]?.string))
            })
    }

    @Test func `every user of an app that moves keeps their account, however often the commands are interrupted`()
        async throws
    {
        var accounts: [String: (account: String, identity: String)] = [:]
        for person in Self.people {
            let created = try await world.newGrantedAccount(person)
            accounts[person] = (try created.accountID(), try created.identityID())
        }
        let sender = try World.settings(scratch, world.sandbox)
        let key = try P256PrivateKey()
        try await world.sandbox.registerAppleKey(team: Self.recipient, keyID: "RECIPKEY01", key)
        let path = try World.privateFile("recipient.p8", String(decoding: try key.pem(), as: UTF8.self))
        let recipient = sender.merging([
            "apple.teamId": Self.recipient, "apple.keyId": "RECIPKEY01", "apple.privateKeyPath": path,
        ]) { _, new in new }

        // The sending team, with a failure of Apple's for one of the three.
        let plan = try await transfer(["export", "--to-team-id", Self.recipient, "--dry-run"], sender).expecting(0)
        #expect(plan.error == "countersign: 0 of 3 have a transfer identifier, 0 failed\n")
        try await world.sandbox.fail("/apple/auth/usermigrationinfo", .status(503), times: 1)
        let first = try await transfer(["export", "--to-team-id", Self.recipient], sender).expecting(1)
        #expect(first.error.contains("http_503"))
        #expect(first.error.hasSuffix("countersign: 2 of 3 have a transfer identifier, 1 failed\n"))
        let second = try await transfer(["export", "--to-team-id", Self.recipient], sender).expecting(0)
        #expect(try moved(first).count == 2)
        #expect(try moved(second).count == 1)
        // Only the identifier that got no answer was requested twice.
        #expect(try await world.sandbox.history(path: "/apple/auth/usermigrationinfo").count == 4)

        // Apple moves the app; one of the three signs in before the receiving team's command runs.
        try await world.sandbox.transferAppleApp(Countersign.appleClient, to: Self.recipient)
        await world.service.stop()
        try await Countersign.serve(recipient) { service in
            let next = World(service: service, sandbox: world.sandbox, scratch: scratch)
            let early = try await service.signIn(.apple, try await next.authorize("kim").codeAlone)
            #expect(try early.accountID() == accounts["kim"]?.account)
            #expect(try early.identityID() == accounts["kim"]?.identity)
            #expect(try early.text("identity.authorization") == "active")

            let ending = try await transfer(["import", "--team-id", Self.recipient], recipient).expecting(0)
            #expect(ending.error == "countersign: 2 of 2 have their new subject, 0 failed\n")
            var subjects = try moved(ending)
            subjects[try early.identityID()] = try early.text("identity.subject")
            for person in Self.people {
                let answer = try await service.signIn(.apple, try await next.authorize(person).tokenAlone)
                #expect(try answer.accountID() == accounts[person]?.account)
                #expect(try answer.text("identity.subject") == subjects[accounts[person]?.identity ?? ""])
            }
            let nothing = try await transfer(["import", "--team-id", Self.recipient], recipient)
            #expect(nothing.error == "countersign: 0 of 0 have their new subject, 0 failed\n")
            #expect(try await next.count("SELECT count(*) FROM identities") == 3)
            let recorded = try await next.count(
                """
                SELECT 10 * count(*) FILTER (WHERE actor = 'operator') + count(*) FILTER (WHERE actor = 'provider')
                FROM audit_events
                WHERE type = 'identity_transferred'
                """)
            #expect(recorded == 21)

            // The old team's refresh tokens are the new team's now, and end with the account.
            let access = try early.bearer()
            #expect(try await service.delete("/v1/account", bearer: access).status == 202)
            try await eventually("the revocation") { try await next.grants(of: "kim").allSatisfy { !$0.isLive } }
        }
    }

    @Test func `an import into a team that the configuration does not have the app in ends with exit code 2`()
        async throws
    {
        let settings = try World.settings(scratch, world.sandbox)
        let ending = try await transfer(["import", "--team-id", Self.recipient], settings).expecting(2)
        #expect(
            ending.error == """
                countersign: --client-id \(Countersign.appleClient) is of the team \(World.appleTeam) in the \
                configuration, and not of \(Self.recipient): give it to the receiving team there first

                """)
        #expect(try await world.sandbox.history(path: "/apple/auth/usermigrationinfo").isEmpty)
    }
}
