import Curl
import JSON

/// One address of a provider's that takes a form and answers with JSON.
struct FormEndpoint: Sendable {
    /// For a request that nobody waits for.
    static let patience: Duration = .seconds(10)

    let url: String
    let fetcher: any Fetcher

    /// Sends the form once. An outcome that is neither a success nor a refusal is thrown as `unavailable`.
    func post(
        _ fields: [(String, String)], bearer: String? = nil, timeout: Duration = patience
    ) async throws(EndpointRefusal) -> FormAnswer {
        var request = FetchRequest.form(url: url, fields: fields)
        request.timeout = timeout
        request.maximumBodyBytes = JSONLimits.answer.maximumBytes
        if let bearer { request.headers.append(("Authorization", "Bearer \(bearer)")) }
        let response: FetchResponse
        do {
            response = try await fetcher.fetch(request)
        } catch {
            throw .unavailable(detail: error.code.word)
        }
        switch response.status {
        case 200:
            return .accepted(body: response.body)
        case 400, 401:
            guard let error = try JSONValue(answer: response.body)["error"]?.string.flatMap(EndpointError.init) else {
                throw .unavailable(detail: "unknown_error")
            }
            return .refused(error)
        default:
            throw .unavailable(detail: "http_\(response.status)")
        }
    }
}

/// What an endpoint said to a form.
enum FormAnswer {
    /// 200. A revocation's body says nothing, so it is read by who needs what is in it.
    case accepted(body: [UInt8])
    /// 400 or 401 with an `error` that we know.
    case refused(EndpointError)

    /// Throws what a refusal means; see `EndpointError`.
    @discardableResult
    func accepted(keyID: String, invalidRequestMeans: EndpointError.InvalidRequestMeaning) throws(EndpointRefusal)
        -> [UInt8]
    {
        switch self {
        case .accepted(let body): return body
        case .refused(let error): throw error.refusal(keyID: keyID, invalidRequestMeans: invalidRequestMeans)
        }
    }

    /// The object in which a success says what it brings.
    func document(keyID: String, invalidRequestMeans: EndpointError.InvalidRequestMeaning) throws(EndpointRefusal)
        -> JSONValue
    {
        let document = try JSONValue(answer: accepted(keyID: keyID, invalidRequestMeans: invalidRequestMeans))
        // Some servers have been seen to say 200 to everything and to mean the member.
        guard document["error"] == nil else { throw .unexpectedAnswer }
        return document
    }
}

extension EndpointRefusal {
    /// A 200 without what it must hold.
    static let unexpectedAnswer = EndpointRefusal.unavailable(detail: "unexpected_json")
}

extension JSONLimits {
    /// Without a limit of its own for a string: what is too long for a token is refused as that.
    fileprivate static let answer = JSONLimits(maximumStringBytes: standard.maximumBytes)
}

extension JSONValue {
    /// An object, whatever its media type says it is.
    fileprivate init(answer: [UInt8]) throws(EndpointRefusal) {
        guard let value = try? JSONValue(parsing: answer, limits: .answer) else {
            throw .unavailable(detail: "not_json")
        }
        guard value.kind == .object else { throw .unexpectedAnswer }
        self = value
    }
}

extension FetchError.Code {
    /// For logs and the outbox; names nothing that came over the wire.
    var word: String {
        switch self {
        case .invalidURL: "invalid_url"
        case .invalidHeader: "invalid_header"
        case .protocolRefused: "protocol_refused"
        case .resolve: "resolve"
        case .connect: "connect"
        case .tls: "tls"
        case .timedOut: "timed_out"
        case .tooLarge: "too_large"
        case .closed: "closed"
        case .cancelled: "cancelled"
        case .busy: "busy"
        case .stopped: "stopped"
        case .other: "other"
        }
    }
}
