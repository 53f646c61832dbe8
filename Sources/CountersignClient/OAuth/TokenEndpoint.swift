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

    /// nil for members that are malformed, or of another kind of token.
    ///
    /// - Parameter sentAt: when it was asked for: the lifetime began later.
    init?(_ members: [String: JSONValue], sentAt: Date) {
        let texts = ["access_token", "token_type", "refresh_token", "id_token", "scope"].map { members[$0] ?? .null }
        guard texts.allSatisfy({ $0 == .null || $0.string != nil }) else { return nil }
        let values = texts.map { $0.string.flatMap { $0.isEmpty ? nil : $0 } }
        guard let accessToken = values[0], isToken(accessToken), (values[1] ?? "bearer").lowercased() == "bearer" else {
            return nil
        }
        self.accessToken = accessToken
        (refreshToken, idToken, scope) = (values[2], values[3], values[4])
        switch members["expires_in"] {
        case nil, .null: expiresAt = nil
        case .number(let seconds):
            // Ten years bound the sum.
            let lifetime = min(max(seconds, 0), 315_360_000).rounded(.down)
            expiresAt = Timestamp.date(Timestamp.seconds(sentAt)).addingTimeInterval(lifetime)
        default: return nil
        }
    }
}

extension HTTPAnswer {
    /// The members of an answer of a token endpoint that grants something.
    ///
    /// - Throws: what another answer means.
    func granted() throws(SessionError) -> [String: JSONValue] {
        guard status == 200 else { throw tokenFailure }
        return JSONValue.object(in: body) ?? [:]
    }

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
