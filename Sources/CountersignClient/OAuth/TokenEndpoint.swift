import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where a client has its tokens refreshed (RFC 6749 §6).
struct TokenEndpoint: Sendable {
    let url: URL
    let clientID: String
    /// nil or empty for a public client.
    let clientSecret: String?

    /// No `scope`: the server keeps the one it granted. A secret goes into the header, form-encoded (§2.3.1); without
    /// one the client is named in the body.
    ///
    /// - Parameter additional: what servers want besides. Names of the protocol's own are left out: a repeated parameter
    ///   is an error (§3.2).
    func refreshRequest(_ refreshToken: String, additional: [String: String]) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.setValue("Countersign-Swift/1", forHTTPHeaderField: "User-Agent")
        request.setValue("application/x-www-form-urlencoded; charset=UTF-8", forHTTPHeaderField: "Content-Type")
        var parameters = [(name: "grant_type", value: "refresh_token"), (name: "refresh_token", value: refreshToken)]
        if let clientSecret, !clientSecret.isEmpty {
            let credentials = "\(FormText.encode(clientID)):\(FormText.encode(clientSecret))"
            let basic = Data(credentials.utf8).base64EncodedString()
            request.setValue("Basic \(basic)", forHTTPHeaderField: "Authorization")
        } else {
            parameters.append((name: "client_id", value: clientID))
        }
        let reserved: Set = ["grant_type", "refresh_token", "client_id", "client_secret"]
        for (name, value) in additional.sorted(by: { $0.key < $1.key }) where !reserved.contains(name) {
            parameters.append((name: name, value: value))
        }
        request.httpBody = Data(FormText.encode(parameters).utf8)
        return request
    }
}

/// What a token endpoint has granted (RFC 6749 §5.1).
struct TokenGrant: Sendable, Equatable {
    let accessToken: String
    /// In place of the old one, where there is one; the same for the others.
    let refreshToken: String?
    let idToken: String?
    let scope: String?
    /// nil: not said.
    let expiresAt: Date?

    /// Throws what the answer means when it grants nothing.
    ///
    /// - Parameter sentAt: when it was asked for: the lifetime began later.
    init(_ answer: HTTPAnswer, sentAt: Date) throws(SessionError) {
        guard answer.status == 200 else { throw answer.tokenFailure }
        let members = JSONValue.object(in: answer.body) ?? [:]
        func text(_ name: String) throws(SessionError) -> String? {
            switch members[name] {
            case nil, .null, .string(""): return nil
            case .string(let text): return text
            default: throw .transient(retryAfter: nil)
            }
        }
        guard let accessToken = try text("access_token"), isToken(accessToken),
            (try text("token_type") ?? "bearer").lowercased() == "bearer"
        else { throw .transient(retryAfter: nil) }
        self.accessToken = accessToken
        refreshToken = try text("refresh_token")
        idToken = try text("id_token")
        scope = try text("scope")
        switch members["expires_in"] {
        case nil, .null: expiresAt = nil
        case .number(let seconds):
            // Ten years bound the sum.
            let lifetime = min(max(seconds, 0), 315_360_000).rounded(.down)
            expiresAt = Timestamp.date(Timestamp.seconds(sentAt)).addingTimeInterval(lifetime)
        default: throw .transient(retryAfter: nil)
        }
    }
}

extension HTTPAnswer {
    /// What another answer of a token endpoint than 200 means (RFC 6749 §5.2). One code ends a session; without a code
    /// it was not the token endpoint that said no.
    fileprivate var tokenFailure: SessionError {
        guard (400..<500).contains(status), status != 429, let code = tokenErrorCode else {
            return .transient(retryAfter: retryAfter, requestID: requestID)
        }
        switch code {
        case "invalid_grant": return .reauthenticate(code: code, requestID: requestID)
        case "temporarily_unavailable", "server_error":
            return .transient(retryAfter: retryAfter, requestID: requestID)
        default: return .refused(code: code, status: status, requestID: requestID)
        }
    }

    private var tokenErrorCode: String? {
        guard let code = JSONValue.object(in: body)?["error"]?.string, (1...64).contains(code.utf8.count),
            code.utf8.allSatisfy({ isAlphanumeric($0) || "-._".utf8.contains($0) })
        else { return nil }
        return code
    }
}
