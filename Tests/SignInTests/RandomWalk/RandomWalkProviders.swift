import Accounts
import Curl
import JSON
import Synchronization
import TestSupport

/// Both providers' token endpoints, in this process, so that a million exchanges cost little. These always answer; faults
/// are tested with the sandbox.
final class WalkProviders: Fetcher {
    static let tokenURL = "https://provider.example/token"
    static let revokeURL = "https://provider.example/revoke"

    private struct State {
        var issued = 0
        /// The refresh tokens that are still valid, by subject.
        var validTokens: [String: Set<String>] = [:]
    }

    private let clock: ManualClock
    private let state = Mutex(State())

    init(clock: ManualClock) { self.clock = clock }

    /// A code that is good for this person.
    ///
    /// - Parameter nonce: of the browser's flow that the code is for.
    func code(_ provider: Provider, _ subject: String, nonce: String? = nil) -> String {
        "\(nextNumber())-\(provider.rawValue)-\(subject)" + (nonce.map { "~\($0)" } ?? "")
    }

    /// Withdraws the person's consent, as in the provider's settings: none of their tokens is valid any longer.
    func withdraw(_ subject: String) { state.withLock { $0.validTokens[subject] = nil } }

    private func nextNumber() -> Int {
        state.withLock {
            $0.issued += 1
            return $0.issued
        }
    }

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        let fields = WalkProviders.fields(of: request)
        if let code = fields["code"] { return answer(toCode: code, of: fields["client_id"] ?? "") }
        let token = fields["token"] ?? fields["refresh_token"] ?? ""
        let subject = WalkProviders.subject(in: token)
        // A revocation ends the person's whole authorization.
        if request.url == WalkProviders.revokeURL { withdraw(subject) }
        let isValid = state.withLock { $0.validTokens[subject]?.contains(token) ?? false }
        return isValid || request.url == WalkProviders.revokeURL
            ? FetchResponse(status: 200, body: Array(#"{"access_token":"access"}"#.utf8))
            : FetchResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8))
    }

    private func answer(toCode code: String, of clientID: String) -> FetchResponse {
        let parts = code.split(separator: "-", maxSplits: 2).map(String.init)
        let person = (parts.last ?? "").split(separator: "~", maxSplits: 1).map(String.init)
        let nonce: [(String, TokenMint.Literal?)] = person.count == 2 ? [("nonce", .string(person[1]))] : []
        guard parts.count == 3, let provider = Provider(rawValue: parts[1]), let subject = person.first,
            let token = try? WalkWorld.token(provider, subject, nonce, at: clock.now())
        else { return FetchResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8)) }
        let refreshToken = "\(nextNumber())-\(provider.rawValue)-\(subject)"
        state.withLock { _ = $0.validTokens[subject, default: []].insert(refreshToken) }
        let body = JSONWriter.object { body in
            body.member("access_token", "access")
            body.member("refresh_token", refreshToken)
            body.member("id_token", token)
        }
        return FetchResponse(status: 200, body: body)
    }

    private static func subject(in token: String) -> String {
        token.split(separator: "-", maxSplits: 2).last.map(String.init) ?? ""
    }

    /// The fields of a form. The values that matter here need no percent-decoding.
    private static func fields(of request: FetchRequest) -> [String: String] {
        let pairs = String(decoding: request.body ?? [], as: UTF8.self).split(separator: "&").map {
            $0.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        }
        return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { first, _ in first }
    }
}
