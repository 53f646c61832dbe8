import Foundation
import Postgres
import TestSupport
import Testing

/// A database as it was at a time, and what the feed has said since.
struct RestoredDatabase: Sendable {
    let world: World
    let time: String
    let feed: String

    /// What a person's device holds.
    struct Device: Sendable {
        let account: String
        let session: String
        let access: String
        let refresh: String

        init(_ answer: Answer) throws {
            (account, session) = (try answer.accountID(), try answer.sessionID())
            (access, refresh) = (try answer.bearer(), try answer.refreshToken())
        }
    }

    /// - Parameters:
    ///   - feed: what the file has that is given as `--feed`.
    ///   - since: in place of the time that the database is of.
    ///   - settings: beside those of the database and the sandbox.
    func reconcile(
        _ words: String..., feed: String? = nil, since: String? = nil, with settings: Countersign.Settings = [:]
    ) async throws -> Countersign.Ending {
        let file = FileManager.default.temporaryDirectory.appending(path: "feed-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        try feed.map { try Data($0.utf8).write(to: file) }
        return try await Countersign.run(
            ["reconcile", "--since", since ?? time] + words + (feed == nil ? [] : ["--feed", file.path]),
            try World.settings(world.scratch, world.sandbox).merging(settings) { $1 })
    }

    fileprivate static func now(in scratch: ScratchDatabase) async throws -> String {
        try await scratch.texts(#"SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')"#)[0]
    }
}

/// A suite of tests that restore a database to an earlier time.
protocol RestoreSuite {}

extension RestoreSuite {
    /// Runs the first part, copies the database, runs the second one on the original, and the third on the copy.
    func restore<State: Sendable>(
        _ before: (World) async throws -> State, _ after: (World, State) async throws -> Void,
        _ check: (RestoredDatabase, State) async throws -> Void
    ) async throws {
        try await ScratchDatabase.withMigrated { original in
            try await Sandbox.run { sandbox in
                try await World.registerClients(at: sandbox)
                // Each process has a port of its own, and the same name.
                let settings = ["server.publicUrl": "https://auth.example.com", "linking.strayAccount": "merge"]
                let state = try await World.serve(original, sandbox, settings, before)
                let time = try await RestoredDatabase.now(in: original)
                try await original.withCopy { copy in
                    try await World.serve(original, sandbox, settings) { world in try await after(world, state) }
                    let feed = try await Countersign.run(["feed"], try World.settings(original, sandbox)).expecting(0)
                    try await World.serve(copy, sandbox, settings) { world in
                        try await check(RestoredDatabase(world: world, time: time, feed: feed.output), state)
                    }
                }
            }
        }
    }

    static func isIn(_ device: RestoredDatabase.Device, _ world: World) async throws -> Bool {
        let answer = try await retryWhenLate { try await world.service.get("/v1/account", bearer: device.access) }
        #expect(answer.status == 200 || answer.status == 401, "\(answer.text)")
        return answer.status == 200
    }
}
