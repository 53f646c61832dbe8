import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests to the server, and what its answers mean.
struct Server: Sendable {
    let baseURL: URL
    let transport: any HTTPTransport
    let hosts: SecureHosts
    let allowsLoopbackHTTP: Bool

    /// - Parameters:
    ///   - method: without one `POST` where there is a body, else `GET`.
    ///   - path: below the base URL, without a slash at its begin.
    ///   - bearer: the access token to send with it.
    func send(
        _ path: String, _ body: [String: JSONValue]? = nil, method: String? = nil, bearer: String? = nil
    ) async throws(SessionError) -> HTTPAnswer {
        try SecureHosts.checkScheme(baseURL, allowsLoopbackHTTP: allowsLoopbackHTTP)
        var request = URLRequest(url: url(path))
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        request.setValue("Countersign-Swift/1", forHTTPHeaderField: "User-Agent")
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONText.encode(body)
        }
        request.httpMethod = method ?? (body == nil ? "GET" : "POST")
        if let bearer { request.setBearer(bearer) }
        return try await transport.exchange(request)
    }

    /// - Parameter query: encoded already.
    func url(_ path: String, query: String? = nil) -> URL {
        let base = baseURL.absoluteString
        let text = (base.hasSuffix("/") ? base : base + "/") + path + (query.map { "?\($0)" } ?? "")
        return URL(string: text) ?? baseURL
    }

    /// Whether a URL is one of the server's API. An API of the app's may be under the same host, and says nothing of the
    /// session.
    func serves(_ url: URL?) -> Bool {
        func port(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
        guard let url, url.scheme?.lowercased() == baseURL.scheme?.lowercased(),
            SecureHosts.host(of: url) == SecureHosts.host(of: baseURL), port(url) == port(baseURL)
        else { return false }
        let base = baseURL.path.hasSuffix("/") ? baseURL.path : baseURL.path + "/"
        return ["v1/", "oauth/"].contains { url.path.hasPrefix(base + $0) }
    }
}

extension HTTPAnswer {
    /// The body of an answer with this status; throws for any other status, and for a body of another shape.
    func body<Wire: Decodable>(_ type: Wire.Type, status expected: Int = 200) throws(SessionError) -> Wire {
        guard status == expected else { throw failure }
        guard let wire = JSONText.decode(type, from: body) else {
            throw .transient(retryAfter: nil, requestID: requestID)
        }
        return wire
    }

    /// Throws unless the answer has this status.
    func require(_ expected: Int) throws(SessionError) {
        guard status == expected else { throw failure }
    }

    /// What an answer means that is not the one asked for. Without a code of the server's it was not the server that
    /// said no.
    var failure: SessionError {
        switch status {
        case 400..<500 where status != 429:
            problemCode.map { .refused(code: $0, status: status, requestID: requestID) }
                ?? .transient(retryAfter: retryAfter, requestID: requestID)
        default: .transient(retryAfter: retryAfter, requestID: requestID)
        }
    }

    /// The `code` of a problem document (RFC 9457); nil for anything that is not a name in lower case.
    var problemCode: String? {
        guard let code = JSONValue.object(in: body)?["code"]?.string, (1...64).contains(code.utf8.count),
            code.utf8.allSatisfy({
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "_")
            })
        else { return nil }
        return code
    }

    /// Whether the server refused the access token, not what was asked with it.
    var refusesSession: Bool { status == 401 && problemCode == "invalid_session" }
}
