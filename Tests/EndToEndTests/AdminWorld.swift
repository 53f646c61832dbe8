import Accounts
import Administration
import Foundation
import HTTPAPI
import JSON
import KeyRing
import OAuthServer
import SignIn
import Storage
import TestSupport
import Testing

extension ScratchDatabase {
    /// Runs a command on the database.
    func run(_ words: [String], _ settings: Countersign.Settings = [:]) async throws -> Countersign.Ending {
        try await Countersign.run(words, settings.merging(["postgres.url": url]) { $1 })
    }

    /// A key of `countersign admin-key create`.
    func adminKey(_ scopes: String, name: String = "kim@support") async throws -> String {
        let ending = try await run(["admin-key", "create", "--name", name, "--scopes", scopes]).expecting(0)
        return ending.output.trimmingCharacters(in: .newlines)
    }
}

extension Countersign.Ending {
    /// What was printed, which is one JSON value on one line.
    var json: JSONValue {
        get throws { try JSONValue(parsing: Array(output.utf8.filter { $0 != UInt8(ascii: "\n") })) }
    }

    /// Itself, which has this exit status.
    @discardableResult
    func expecting(_ status: Int32, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
        #expect(self.status == status, "\(error)", sourceLocation: sourceLocation)
        return self
    }
}

extension World {
    func run(_ words: [String], _ settings: Countersign.Settings = [:]) async throws -> Countersign.Ending {
        try await scratch.run(words, settings)
    }

    func adminKey(_ scopes: String, name: String = "kim@support") async throws -> String {
        try await scratch.adminKey(scopes, name: name)
    }

    /// A key that was good until it was revoked.
    func revokedAdminKey() async throws -> String {
        let key = try await adminKey("read,revoke,manage", name: "leaver")
        #expect(try await service.administer("GET", "/admin/v1/outbox", bearer: key).status == 200)
        try await revokeAdminKey(named: "leaver")
        return key
    }

    /// Revokes the newest key of that name: another test may have revoked one before.
    func revokeAdminKey(named name: String) async throws {
        let list = try await run(["admin-key", "list"]).output
        let line = try #require(list.split(separator: "\n").last { $0.contains(#""name":"\#(name)""#) })
        let id = try #require(line.firstMatch(of: /"keyId":"([^"]+)"/)?.1)
        #expect(try await run(["admin-key", "revoke", String(id)]).status == 0)
    }

    /// A body that is complete for the operation of this template, if that takes one.
    static func adminBody(_ template: String) throws -> String {
        try adminBodies.get()[template] ?? #"{"reason":"a test"}"#
    }

    private static let adminBodies = Result {
        try Fixtures.file("admin-bodies.json").decoded(as: [String: String].self)
    }

    /// The table of operations that the running service uses, made from the same source.
    func administration() async throws -> [AdminAPI.Operation] {
        try await scratch.withPool { database in
            let oauth = OAuthAdministration(database: database, scopes: { OAuthScopes([.profile, .email]) })
            let administration = Administration(database: database, oauth: oauth, clock: ManualClock(at: 0))
            return AdminAPI(administration: administration).operations
        }
    }
}

extension Countersign {
    /// A request to the private listener, of any form.
    func administer(
        _ method: String, _ target: String, bearer: String?, body: String? = nil, type: String = "application/json",
        headers: String = ""
    ) async throws -> RawAnswer {
        try await exchange(
            privatePort, method, target, authorization: bearer.map { "Bearer \($0)" }, body: body, type: type,
            headers: headers)
    }

    /// A request to the public listener, of any form.
    func ask(
        _ method: String, _ target: String, bearer: String? = nil, host: String = "a", body: String? = nil,
        type: String = "application/json", headers: String = ""
    ) async throws -> RawAnswer {
        try await exchange(
            port, method, target, authorization: bearer.map { "Bearer \($0)" }, host: host, body: body, type: type,
            headers: headers)
    }

    func exchange(
        _ port: UInt16, _ method: String, _ target: String, authorization: String?, host: String = "a",
        body: String? = nil, type: String = "application/json", headers: String = ""
    ) async throws -> RawAnswer {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\(headers)"
        if let authorization { head += "Authorization: \(authorization)\r\n" }
        if let body { head += "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n" }
        return try await RawConnection.exchange(port, head + "\r\n" + (body ?? ""))
    }
}
