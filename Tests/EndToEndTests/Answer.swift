import Curl
import HTTPServer
import JSON
import TestSupport
import Testing

/// What the service answered, by whichever client it was asked.
protocol ReadableAnswer {
    var status: Int { get }
    var text: String { get }
    var json: JSONValue? { get }
}

extension ReadableAnswer {
    /// The error code of a refusal.
    var code: String? { json?["code"]?.string }

    /// What a list has on this page.
    var items: [JSONValue] { json?["items"]?.elements ?? [] }

    /// Itself, which has this status.
    @discardableResult
    func expecting(_ status: Int, sourceLocation: SourceLocation = #_sourceLocation) -> Self {
        #expect(self.status == status, "\(text)", sourceLocation: sourceLocation)
        return self
    }

    func expectRefusal(
        _ status: Int, _ code: String, _ context: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(
            self.status == status && self.code == code, "\(context?.rawValue ?? "") \(self.status) \(text)",
            sourceLocation: sourceLocation)
    }
}

/// An answer of the service.
struct Answer: ReadableAnswer, Sendable {
    let status: Int
    let headers: FetchHeaders
    let body: [UInt8]

    init(_ response: FetchResponse) { (status, headers, body) = (response.status, response.headers, response.body) }

    var json: JSONValue? { try? JSONValue(parsing: body) }

    var text: String { String(decoding: body, as: UTF8.self) }

    /// A text of the body by its path, such as `session.accessToken`.
    func text(_ path: String, _ location: SourceLocation = #_sourceLocation) throws -> String {
        let value = path.split(separator: ".").reduce(json) { value, name in value?[String(name)] }
        return try #require(value?.string, "no \(path) in \(status) \(text)", sourceLocation: location)
    }

    func bearer(_ at: SourceLocation = #_sourceLocation) throws -> String { try text("session.accessToken", at) }

    func refreshToken(_ at: SourceLocation = #_sourceLocation) throws -> String { try text("session.refreshToken", at) }

    func sessionID(_ at: SourceLocation = #_sourceLocation) throws -> String { try text("session.sessionId", at) }

    func accountID(_ at: SourceLocation = #_sourceLocation) throws -> String { try text("account.accountId", at) }

    func identityID(_ at: SourceLocation = #_sourceLocation) throws -> String { try text("identity.identityId", at) }

    func linkTicket(_ at: SourceLocation = #_sourceLocation) throws -> String { try text("linkTicket", at) }

    /// The texts of an array, sorted.
    func texts(_ name: String) -> [String] { (json?[name]?.elements ?? []).compactMap(\.string).sorted() }

    func header(_ name: String) -> String? { headers.first(name) }

    /// The seconds of `Retry-After`.
    var retryAfter: Int? { header("Retry-After").flatMap(Int.init) }

    /// Expects a refusal that says to come back in so many seconds.
    func expectRefusal(
        _ status: Int, _ code: String, _ context: Comment? = nil, retryAfter seconds: some RangeExpression<Int>,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectRefusal(status, code, context, sourceLocation: sourceLocation)
        #expect(seconds.contains(retryAfter ?? 0), context, sourceLocation: sourceLocation)
    }

    /// Everything that may not differ between two refusals that have to look alike: `requestId` is the only member, and
    /// the request id and the date are the only fields, that belong to one request alone.
    var withoutRequestID: String {
        let id = json?["requestId"]?.string ?? "no request id"
        let fields = headers.fields.filter { !["date", "x-request-id"].contains($0.name.lowercased()) }
        return "\(status)\n" + fields.map { "\($0.name): \($0.value)\n" }.joined() + text.replacing(id, with: "ID")
    }
}

extension JSONValue {
    /// What a refusal says of each member, such as `email required`.
    var fieldErrors: [String] {
        (self["errors"]?.elements ?? []).map { "\($0["field"]?.string ?? "") \($0["reason"]?.string ?? "")" }
    }
}

extension Countersign {
    /// A POST of JSON to the public listener.
    func post(
        _ path: String, _ members: TokenMint.Members, bearer: String? = nil, headers: [(String, String)] = []
    ) async throws -> Answer { try await post(path, body: members.bytes, bearer: bearer, headers: headers) }

    /// A POST of any bytes.
    func post(
        _ path: String, body: [UInt8], type: String = "application/json", bearer: String? = nil,
        headers: [(String, String)] = []
    ) async throws -> Answer {
        var fields: [(name: String, value: String)] = [("Content-Type", type)] + headers.map { ($0.0, $0.1) }
        if let bearer { fields.append(("Authorization", "Bearer \(bearer)")) }
        return Answer(try await fetch(FetchRequest(.post, url: url + path, headers: fields, body: body)))
    }

    func get(_ path: String, bearer: String? = nil) async throws -> Answer {
        let fields = bearer.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        return Answer(try await fetch(FetchRequest(url: url + path, headers: fields)))
    }

    /// A GET from the private listener.
    func privateGet(_ path: String) async throws -> Answer {
        Answer(try await fetch(FetchRequest(url: privateURL + path)))
    }

    func isReady() async throws -> Bool { try await privateGet("/health/ready").status == 200 }

    /// Whether the process is ready, and writes wait for a standby.
    func holdsWrites() async throws -> Bool {
        let answer = try await privateGet("/health/ready")
        return answer.status == 200 && answer.json?["writes"]?.string == "waiting"
    }

    private func fetch(_ request: FetchRequest) async throws -> FetchResponse {
        var request = request.uncontended
        // The page of metrics has a series for each route.
        request.maximumBodyBytes = 1 << 20
        return try await fetcher.fetch(request)
    }

    /// Makes an account by a link ticket.
    func create(_ ticket: String) async throws -> Answer {
        try await post("/v1/links/create", ["linkTicket": .string(ticket)])
    }

    /// Binds by a link ticket to the account of a session.
    func bind(_ ticket: String, bearer: String) async throws -> Answer {
        try await post("/v1/links/bind", ["linkTicket": .string(ticket)], bearer: bearer)
    }

    func linkGoogle(_ token: String, bearer: String) async throws -> Answer {
        try await post("/v1/account/identities/google", ["idToken": .string(token)], bearer: bearer)
    }

    func verifyEmail(_ code: String, bearer: String) async throws -> Answer {
        try await post("/v1/account/verify-email", ["code": .string(code)], bearer: bearer)
    }

    /// - Parameter scope: `current`, `others` or `all`
    func signOut(_ scope: String, bearer: String) async throws -> Answer {
        try await post("/v1/sessions/revoke", ["scope": .string(scope)], bearer: bearer)
    }

    func signInWithApple(_ token: String, _ more: TokenMint.Members = [:]) async throws -> Answer {
        try await post("/v1/sign-in/apple", more.with("identityToken", .string(token)))
    }

    func refresh(_ token: String) async throws -> Answer {
        try await post("/v1/sessions/refresh", ["refreshToken": .string(token)])
    }

    func signInWithGoogle(_ token: String, _ more: TokenMint.Members = [:]) async throws -> Answer {
        try await post("/v1/sign-in/google", more.with("idToken", .string(token)))
    }
}

/// Repeats one of many requests at once, ten times at most, that a busy machine got to later than the service begins
/// one; below `/oauth/` its 503 has no code. A 503 that comes sooner is a refusal, and is returned. For races, where each
/// request has to be decided, and for the people that a test begins with; what a test is about is asked for once.
func retryWhenLate(_ ask: () async throws -> Answer) async throws -> Answer {
    for _ in 0..<10 {
        let start = ContinuousClock.now
        let answer = try await ask()
        let isOverload = answer.status == 503 && [nil, "temporarily_unavailable"].contains(answer.code)
        guard isOverload, start.duration(to: .now) >= ServerLimits().queueTimeout else { return answer }
    }
    return try await ask()
}
