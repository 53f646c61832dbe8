import JSON
import TestSupport
import Testing

/// Requests with a good key and any other content: the answer is the one that openapi.yaml documents.
@Suite(.limitedConcurrency, .world(OAuthWorld.settings), .timeLimit(.minutes(30)))
struct AdminRequestTests: WorldSuite {
    private static let unknownID = "01a1fc41-9b43-7a01-afff-a0f49219c796"

    /// What is no id, and queries that a list, a filter and an act with a reason don't take.
    private struct Hostile: Decodable, Sendable {
        let ids: [String]
        let lists: [String]
        let reasons: [String]
        let filters: [String: [String]]
    }

    private static let hostile = Result { try Fixtures.file("admin-requests.json").decoded(as: Hostile.self) }

    /// Sends each target to each of these operations.
    private func expect(
        _ status: Int, _ code: String, of operations: [APIDocument.Operation],
        targets: (APIDocument.Operation) -> [String], body: (APIDocument.Operation) throws -> String?
    ) async throws {
        let key = try await world.adminKey("read,revoke,manage")
        #expect(!operations.isEmpty)
        for operation in operations {
            let all = targets(operation)
            #expect(!all.isEmpty)
            for target in all {
                let answer = try await service.administer(operation.method, target, bearer: key, body: body(operation))
                #expect(answer.status == status, "\(operation.method) \(target): \(answer.body)")
                #expect(answer.code == code, "\(operation.method) \(target): \(answer.body)")
            }
        }
    }

    @Test func `an id that is none is not found`() async throws {
        let ids = try Self.hostile.get().ids + [String(repeating: "a", count: 65)]
        try await expect(
            404, "not_found", of: try APIDocument.read().administration.filter { $0.template.contains("{") },
            targets: { operation in ids.map(operation.path) },
            body: { try $0.hasBody ? World.adminBody($0.template) : nil })
    }

    @Test func `a list takes a limit of 1 to 200, a cursor of ours and what it knows, each once`() async throws {
        let hostile = try Self.hostile.get().lists + ["cursor=" + String(repeating: "A", count: 2000)]
        try await expect(
            400, "invalid_request",
            of: try APIDocument.read().administration.filter { $0.parameters.contains("Limit") },
            targets: { operation in hostile.map { "\(operation.path(Self.unknownID))?\($0)" } }, body: { _ in nil })
    }

    @Test func `a filter takes what can be there`() async throws {
        var filters = try Self.hostile.get().filters
        filters["accounts"]?.append("subject=" + String(repeating: "a", count: 256))
        filters["accounts"]?.append("emailPrefix=" + String(repeating: "a", count: 1025))
        let lists = try APIDocument.read().administration.filter {
            filters[$0.template.replacing("/admin/v1/", with: "")] != nil
        }
        #expect(lists.count == filters.count)
        try await expect(
            400, "invalid_request", of: lists,
            targets: { list in
                (filters[list.template.replacing("/admin/v1/", with: "")] ?? []).map { "\(list.template)?\($0)" }
            }, body: { _ in nil })
    }

    @Test func `a reason in a query is one line, and given once`() async throws {
        let hostile = try Self.hostile.get().reasons + ["reason=" + String(repeating: "a", count: 1025)]
        try await expect(
            400, "invalid_request",
            of: try APIDocument.read().administration.filter { $0.parameters.contains("Reason") },
            targets: { operation in hostile.map { "\(operation.path(Self.unknownID))?\($0)" } }, body: { _ in nil })
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "{", #"{"reason":"a"}x"#, "\u{FEFF}" + #"{"reason":"a"}"#, #"{"reason":null}"#,
        #"{"reason":1}"#, #"{"reason":""}"#, #"{"reason":"  "}"#, #"{"reason":"a\u0000"}"#, #"{"reason":"a\nb"}"#,
        #"{"reason":"\ud800"}"#,
        #"{"reason":"a","reason":"b"}"#, #"{"reason":"a","more":1}"#, #"{"Reason":"a"}"#, #"{"reason":{"reason":"a"}}"#,
        #"{"reason":"a","more":[[[[[[[[[1]]]]]]]]]}"#, #"{"reason":"\#(String(repeating: "a", count: 1025))"}"#,
    ])
    func `a change needs its reason, and takes nothing that it does not know`(_ body: String) async throws {
        try await expect(
            400, "invalid_request",
            of: try APIDocument.read().administration.filter { $0.hasBody && !Self.mayTake(body, $0) },
            targets: { [$0.path(Self.unknownID)] }, body: { _ in body })
    }

    /// Whether the operation can do without a reason, and without what else is absent.
    private static func mayTake(_ body: String, _ operation: APIDocument.Operation) -> Bool {
        switch operation.description {
        case "PATCH /admin/v1/oauth-clients/{clientId}": body == "{}"
        case "POST /admin/v1/oauth-clients/{clientId}/rotate-secret": ["", "{}"].contains(body)
        case "POST /admin/v1/accounts/{accountId}/email-codes", "POST /admin/v1/webhooks/{name}/pause",
            "POST /admin/v1/webhooks/{name}/resume", "POST /admin/v1/webhooks/{name}/test",
            "POST /admin/v1/revocations/{revocationId}/retry", "POST /admin/v1/provider-events/{eventId}/replay":
            ["", "{}"].contains(body)
        default: false
        }
    }

    @Test func `a member that a change does not know is named beside everything that it lacks`() async throws {
        let key = try await world.adminKey("read,revoke,manage")
        func errors(_ method: String, _ path: String) async throws -> [String]? {
            try await service.administer(method, path, bearer: key, body: #"{"reson":"a test"}"#).json?
                .fieldErrors
        }
        for operation in try APIDocument.read().administration.filter(\.hasBody) {
            let found = try await errors(operation.method, operation.path(Self.unknownID))
            #expect(found?.last == "reson unknown", "\(operation)")
        }
        let path = "/admin/v1/accounts/\(Self.unknownID)"
        #expect(
            try await errors("POST", "\(path)/replace-email") == ["email required", "reason required", "reson unknown"])
        #expect(try await errors("PATCH", path) == ["displayName required", "reson unknown"])
    }

    /// Nobody would find a reason that is not read.
    @Test func `a change that takes no body refuses one with members, also with a reason`() async throws {
        let changes = try APIDocument.read().administration.filter { $0.method != "GET" && !$0.hasBody }
        for body in [#"{"reason":"a test"}"#, #"{"email":"other@example.com"}"#, "{", "[]", "null"] {
            try await expect(
                400, "invalid_request", of: changes, targets: { [$0.path(Self.unknownID)] }, body: { _ in body })
        }
        for body in ["", "{}"] {
            try await expect(404, "not_found", of: changes, targets: { [$0.path(Self.unknownID)] }, body: { _ in body })
        }
        let key = try await world.adminKey("read,revoke,manage")
        for change in changes {
            let text = try await service.administer(
                change.method, change.path(Self.unknownID), bearer: key, body: "{}", type: "text/plain")
            #expect(text.status == 415, "\(change): \(text.body)")
            #expect(change.statuses.isSuperset(of: [400, 415]), "\(change)")
        }
    }

    @Test func `an act that needs no reason takes one from the body or the query, and not from both`() async throws {
        try await World.run { world in
            let created = try await world.newGrantedAccount("retried")
            try await world.sandbox.fail(Sandbox.Provider.apple.revokePath, .status(500))
            let key = try await world.adminKey("revoke")
            let identity = try created.identityID()
            let revoked = try await world.service.administer(
                "POST", "/admin/v1/identities/\(identity)/revoke", bearer: key, body: #"{"reason":"case 6"}"#)
            let id = try #require(revoked.json?["revocationId"]?.string, "\(revoked.body)")
            func retry(_ query: String, _ body: String?) async throws -> RawAnswer {
                try await world.service.administer(
                    "POST", "/admin/v1/revocations/\(id)/retry\(query)", bearer: key, body: body)
            }
            let taken: [(query: String, body: String?, reason: String?)] = [
                ("", nil, nil), ("", "", nil), ("", "{}", nil), ("", #"{"reason":"case 7"}"#, "case 7"),
                ("?reason=case%208", nil, "case 8"), ("?reason=case%209", "{}", "case 9"),
            ]
            for (query, body, reason) in taken {
                let answer = try await retry(query, body)
                #expect(answer.status == 202, "\(query) \(body ?? "") \(answer.body)")
                guard let reason else { continue }
                #expect(try await world.audited("revocation_retried", reason: reason) == 1, "\(reason)")
            }
            let twice = try await retry("?reason=case%2010", #"{"reason":"case 10"}"#).expecting(400)
            #expect(twice.json?.fieldErrors == ["reason not_allowed"])
            let unknown = try await retry("", #"{"why":"case 11"}"#).expecting(400)
            #expect(unknown.json?.fieldErrors == ["why unknown"])
            #expect(try await world.audited("revocation_retried") == Int64(taken.count))
        }
    }

    @Test func `a body of another type, coded or too large is refused for that`() async throws {
        let key = try await world.adminKey("read,revoke,manage")
        let body = #"{"reason":"a test"}"#
        for operation in try APIDocument.read().administration.filter(\.hasBody) {
            func send(_ body: String, type: String = "application/json", headers: String = "") async throws -> RawAnswer
            {
                try await service.administer(
                    operation.method, operation.path(Self.unknownID), bearer: key, body: body, type: type,
                    headers: headers)
            }
            for type in ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-16", "json"]
            {
                let answer = try await send(body, type: type)
                #expect(answer.status == 415 && answer.code == "unsupported_media_type", "\(operation) \(type)")
            }
            let coded = try await send(body, headers: "Content-Encoding: gzip\r\n")
            #expect(coded.status == 415 && coded.code == "unsupported_media_type", "\(operation)")
            let large = try await send(String(repeating: " ", count: 65_537))
            #expect(large.status == 413 && large.code == "payload_too_large", "\(operation)")
        }
    }
}
