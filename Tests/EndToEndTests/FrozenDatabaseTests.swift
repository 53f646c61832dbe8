import JSON
import Postgres
import TestSupport
import Testing

/// Databases that hang and are not down: their connections stay, and nothing answers.
@Suite(.limitedConcurrency, .timeLimit(.minutes(30))) struct FrozenDatabaseTests {
    /// What ends a request's wait: five seconds for a statement, and two for a COMMIT (`the requests' connections wait five
    /// seconds for an answer`), or for a lock, which one has that waits to commit, or that commits are known to wait for the
    /// standby. Whatever a busy machine adds, the silence of the connection would end it later, after twelve.
    private static let limits = [
        "not answered within the answer timeout", "not answered within the commit timeout",
        "its commit waits for a standby", "writesHeld", "canceling statement due to lock timeout",
    ]

    private typealias Person = (token: String, access: String, refresh: String)

    /// Runs a service on clusters of this URL.
    private func service(_ url: String, _ body: (World, Person) async throws -> Void) async throws {
        try await Sandbox.run { sandbox in
            try await World.serve(ScratchDatabase(url: url), sandbox, arguments: ["--migrate"]) { world in
                let created = try await world.newAccount("kim")
                try await body(world, (world.appleToken("kim"), created.bearer(), created.refreshToken()))
            }
        }
    }

    /// Expects that no write succeeds, and that each is given up at the limit for its answer, as the service itself
    /// reports.
    private func expectNoWrites(_ world: World, _ person: Person) async throws {
        let service = world.service
        async let signIn = service.signInWithApple(person.token)
        async let renewal = service.refresh(person.refresh)
        async let signOut = service.signOut("others", bearer: person.access)
        for answer in try await [signIn, renewal, signOut] {
            answer.expectRefusal(503, "temporarily_unavailable", retryAfter: 1...3)
            let line = try await service.logged(try answer.text("requestId"))
            let reason = try #require(line["reason"]?.string)
            #expect(Self.limits.contains { reason.contains($0) }, "\(line["route"]?.string ?? ""): \(reason)")
        }
    }

    private func expectRecovery(_ world: World, _ person: Person) async throws {
        try await eventually("readiness to be back") { try await world.service.isReady() }
        try await eventually("sign-ins") { try await world.service.signInWithApple(person.token).status == 200 }
        try await world.service.refresh(person.refresh).expecting(200)
    }

    /// The value of a gauge without labels.
    private func commitsWaiting(_ world: World) async throws -> Int? {
        let lines = try await world.service.privateGet("/metrics").text.split(separator: "\n")
        let line = lines.first { $0.hasPrefix("countersign_postgres_commits_waiting ") }
        return line?.split(separator: " ").last.flatMap { Double($0) }.map { Int($0) }
    }

    @Test func `beside a primary that freezes requests are given up at the limit, and all works when it goes on`()
        async throws
    {
        try await PrivateCluster.run { cluster, url in
            try await service(url) { world, person in
                try cluster.freeze()
                defer { try? cluster.thaw() }
                try await expectNoWrites(world, person)
                #expect(try await world.service.privateGet("/health/ready").status == 503)
                #expect(try await world.service.privateGet("/health/live").status == 200)
                #expect(try await world.service.get("/.well-known/jwks.json").status == 200)
                try cluster.thaw()
                try await expectRecovery(world, person)
            }
        }
    }

    @Test
    func `while commits wait for a standby that freezes writes are refused at once and reads go on`() async throws {
        try await PrivateCluster.run { primary, url in
            try await primary.withStandby { standby, _ in
                try await service(url) { world, person in
                    try await world.scratch.confirmCommits()
                    #expect(try await commitsWaiting(world) == 0)
                    let admin = try await ConsoleVisit.signedIn(to: world)
                    let key = try await world.adminKey("read", name: "robot")
                    try standby.freeze()
                    defer { try? standby.thaw() }
                    try await expectNoWrites(world, person)
                    try await eventually("readiness to show it") { try await world.service.holdsWrites() }
                    // More than there are connections.
                    for _ in 0..<8 {
                        try await expectNoWrites(world, person)
                        // What only reads, and what notes a use on its way.
                        for path in ["/v1/account", "/v1/sessions", "/.well-known/jwks.json"] {
                            #expect(try await world.service.get(path, bearer: person.access).status == 200, "\(path)")
                        }
                        #expect(try await admin.open("/console/accounts?q=kim").status == 200)
                        try await world.service.administer("GET", "/admin/v1/accounts", bearer: key).expecting(200)
                    }
                    try await eventually("the metric") { try await commitsWaiting(world) ?? 0 > 0 }
                    try standby.thaw()
                    try await expectRecovery(world, person)
                    try await eventually("the metric to be 0") { try await commitsWaiting(world) == 0 }
                }
            }
        }
    }
}
