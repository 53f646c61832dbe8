import Curl
import JOSE
import TestSupport
import Testing

/// The rules for the form of every POST to Apple's endpoints, which are checked before its content.
@Suite(.sharedSandbox) struct AppleFormTests {
    private var sandbox: Sandbox { .current }

    static let paths = ["/apple/auth/token", "/apple/auth/revoke", "/apple/auth/usermigrationinfo"]

    private func raw(
        _ path: String, type: String?, body: String, headers: [(name: String, value: String)] = []
    ) async throws -> String {
        let request = FetchRequest(
            .post, url: sandbox.url + path, headers: (type.map { [("Content-Type", $0)] } ?? []) + headers,
            body: Array(body.utf8))
        return try await sandbox.post(request).refusal
    }

    private static let refused = Result { try DataFile("Fixtures/refused-forms.tsv").rows }

    @Test(arguments: paths, try refused.get())
    func `another content type, a repeated parameter, and what is not percent-encoded, is refused`(
        _ path: String, _ row: [String]
    ) async throws { #expect(try await raw(path, type: row[0], body: row[1]) == row[2]) }

    @Test(arguments: paths) func `a parameter in the query is refused`(_ path: String) async throws {
        #expect(
            try await raw(path + "?client_id=a", type: "application/x-www-form-urlencoded", body: "")
                == "400 invalid_request parameters belong into the body")
    }

    @Test(arguments: ["/apple/auth/token", "/apple/auth/revoke"])
    func `credentials in a header are refused, also beside good ones in the body`(_ path: String) async throws {
        #expect(
            try await raw(
                path, type: "application/x-www-form-urlencoded", body: "client_id=a&client_secret=b",
                headers: [("Authorization", "Basic YTpi")])
                == "400 invalid_client credentials belong into the body")
    }

    @Test(arguments: [
        ("authorization_code", ["nonce", "scope", "code_verifier", "refresh_token", "response_type", "state"]),
        ("refresh_token", ["code", "redirect_uri", "scope"]),
        ("client_credentials", ["code", "redirect_uri", "refresh_token"]),
    ])
    func `a parameter that the grant type does not have is refused`(
        _ grantType: String, _ names: [String]
    ) async throws {
        let client = try await AppleClient.register(in: sandbox)
        for name in names {
            let answer = try await client.post("/apple/auth/token", [("grant_type", grantType), (name, "x")])
            #expect(answer.refusal == "400 invalid_request \(name) is not supported")
        }
    }

    @Test(
        arguments: [
            ("/apple/auth/token", "grant_type", []),
            ("/apple/auth/token", "code", [("grant_type", "authorization_code")]),
            ("/apple/auth/token", "refresh_token", [("grant_type", "refresh_token")]),
            ("/apple/auth/token", "scope", [("grant_type", "client_credentials")]),
            ("/apple/auth/revoke", "token", []),
        ] as [(String, String, [(String, String)])])
    func `a parameter that is missing or empty is named`(
        _ path: String, _ name: String, _ fields: [(String, String)]
    ) async throws {
        let client = try await AppleClient.register(in: sandbox)
        #expect(try await client.post(path, fields).refusal == "400 invalid_request \(name) is missing")
        #expect(try await client.post(path, fields + [(name, "")]).refusal == "400 invalid_request \(name) is missing")
    }

    @Test func `both client_id and client_secret are asked for`() async throws {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", "x")]
        let none = try await sandbox.post("/apple/auth/token", fields)
        #expect(none.refusal == "400 invalid_request client_id is missing")
        let half = try await sandbox.post("/apple/auth/token", fields + [("client_id", "a")])
        #expect(half.refusal == "400 invalid_request client_secret is missing")
    }

    @Test func `a grant type that Apple does not have is refused`() async throws {
        let client = try await AppleClient.register(in: sandbox)
        #expect(
            try await client.post("/apple/auth/token", [("grant_type", "password")]).refusal
                == "400 unsupported_grant_type grant_type is none of Apple's")
    }

    @Test func `a refusal is one word of JSON that is not cached`() async throws {
        let answer = try await sandbox.post("/apple/auth/token", [])
        #expect(answer.status == 400)
        #expect(String(decoding: answer.body, as: UTF8.self) == #"{"error":"invalid_request"}"#)
        #expect(answer.headers.first("Content-Type") == "application/json;charset=UTF-8")
        #expect(answer.headers.first("Cache-Control") == "no-store")
    }
}
