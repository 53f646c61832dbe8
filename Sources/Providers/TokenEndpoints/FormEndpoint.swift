import Curl
import JSON

/// A provider's endpoint that takes a form and answers with JSON.
struct FormEndpoint: Sendable {
    /// The timeout of requests that no sign-in waits for.
    static let defaultTimeout: Duration = .seconds(10)

    let url: String
    let fetcher: any Fetcher

    /// Sends the form once. An outcome that is neither a success nor a refusal is thrown as `unavailable`.
    func post(
        _ fields: [(String, String)], bearer: String? = nil, timeout: Duration = defaultTimeout
    ) async throws(EndpointRefusal) -> FormAnswer {
        var request = FetchRequest.form(url: url, fields: fields)
        request.timeout = timeout
        request.maximumBodyBytes = JSONLimits.answer.maximumBytes
        if let bearer { request.headers.append(("Authorization", "Bearer \(bearer)")) }
        let response: FetchResponse
        do {
            response = try await fetcher.fetch(request)
        } catch {
            throw .unavailable(detail: error.code.rawValue)
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

/// An endpoint's answer to a form.
enum FormAnswer {
    /// 200. A revocation's body has no meaning, so callers that need the body parse it themselves.
    case accepted(body: [UInt8])
    /// 400 or 401 with an `error` that we know.
    case refused(EndpointError)

    /// The body of a success. Throws the meaning of a refusal; see `EndpointError`.
    @discardableResult
    func accepted(keyID: String, invalidRequestMeans: EndpointError.InvalidRequestMeaning) throws(EndpointRefusal)
        -> [UInt8]
    {
        switch self {
        case .accepted(let body): return body
        case .refused(let error): throw error.refusal(keyID: keyID, invalidRequestMeans: invalidRequestMeans)
        }
    }

    /// The JSON object of a success.
    func document(keyID: String, invalidRequestMeans: EndpointError.InvalidRequestMeaning) throws(EndpointRefusal)
        -> JSONValue
    {
        let document = try JSONValue(answer: accepted(keyID: keyID, invalidRequestMeans: invalidRequestMeans))
        // Some servers have been seen to answer 200 to everything, with the error in this member.
        guard document["error"] == nil else { throw .unexpectedAnswer }
        return document
    }
}

extension EndpointRefusal {
    /// A 200 without the members that it must have.
    static let unexpectedAnswer = EndpointRefusal.unavailable(detail: "unexpected_json")
}

extension JSONLimits {
    /// The limits of an answer. Strings have none of their own: one too long for a token is refused as a token.
    fileprivate static let answer = JSONLimits(maximumStringBytes: standard.maximumBytes)
}

extension JSONValue {
    /// The object of an answer, whatever its media type.
    fileprivate init(answer: [UInt8]) throws(EndpointRefusal) {
        guard let value = try? JSONValue(parsing: answer, limits: .answer) else {
            throw .unavailable(detail: "not_json")
        }
        guard value.kind == .object else { throw .unexpectedAnswer }
        self = value
    }
}
