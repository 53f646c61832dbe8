package import Accounts
package import Curl
import JSON

/// The stream of Google's security events of a project (Cross-Account Protection), managed through Google's RISC API.
package struct GoogleEventStream: Sendable {
    package struct Settings: Sendable, Equatable {
        /// The URL of the receiver.
        package let url: String
        /// The requested event types, by their full names.
        package let eventTypes: [String]

        package init(url: String, eventTypes: [String]) {
            self.url = url
            self.eventTypes = eventTypes
        }
    }

    package enum Status: String, Sendable, CaseIterable {
        case enabled
        /// Events are dropped: Google keeps none for later.
        case disabled
        case paused
    }

    /// The reason why a request failed. A message is Google's own, on one line.
    package enum Refusal: Error, Sendable, Equatable {
        /// 400.
        case invalid(message: String?)
        /// 401: the bearer token was not accepted.
        case unauthenticated
        /// 403: no role, no API, or an address that Google does not send to.
        case forbidden(message: String?)
        /// 404: no receiver is registered.
        case noStream
        /// No answer, or none that can be read: `timed_out`, `connect`, `http_500`, `not_json`.
        case unavailable(detail: String)
    }

    package static let apiURL = "https://risc.googleapis.com"
    private static let push = "https://schemas.openid.net/secevent/risc/delivery-method/push"
    private static let timeout: Duration = .seconds(10)

    private let account: GoogleServiceAccount
    private let apiURL: String
    private let fetcher: any Fetcher
    private let clock: any WallClock

    package init(account: GoogleServiceAccount, apiURL: String = apiURL, fetcher: any Fetcher, clock: any WallClock) {
        self.account = account
        self.apiURL = apiURL.hasSuffix("/") ? String(apiURL.dropLast()) : apiURL
        self.fetcher = fetcher
        self.clock = clock
    }

    /// The event types that this service acts on, by Google's names.
    package static let eventTypes = ProviderEvent.Kind.allCases.compactMap(GoogleProvider.eventType)

    package func settings() async throws(Refusal) -> Settings {
        let answer = try await get("stream")
        guard let url = answer["delivery"]?["url"]?.string else { throw .unexpectedAnswer }
        let types = answer["events_requested"]?.elements?.map(\.string) ?? []
        guard !types.contains(nil) else { throw .unexpectedAnswer }
        return Settings(url: url, eventTypes: types.compactMap { $0 })
    }

    /// Makes the stream, or changes it. Google silently drops a type that it does not know: `settings` returns those that it
    /// kept.
    package func register(_ settings: Settings) async throws(Refusal) {
        try await post("stream:update") { body in
            body.object("delivery") { body in
                body.member("delivery_method", Self.push)
                body.member("url", settings.url)
            }
            body.member("events_requested", settings.eventTypes)
        }
    }

    package func status() async throws(Refusal) -> Status {
        guard let status = try await get("stream/status")["status"]?.string.flatMap(Status.init) else {
            throw .unexpectedAnswer
        }
        return status
    }

    package func enable(_ isEnabled: Bool) async throws(Refusal) {
        let status: Status = isEnabled ? .enabled : .disabled
        try await post("stream/status:update") { $0.member("status", status.rawValue) }
    }

    /// Has Google send an event of the type `verification` with this state.
    package func verify(state: String) async throws(Refusal) {
        try await post("stream:verify") { $0.member("state", state) }
    }

    // MARK: - Requests

    private func get(_ path: String) async throws(Refusal) -> JSONValue {
        let body = try await send(FetchRequest(url: "\(apiURL)/v1beta/\(path)"))
        guard let answer = try? JSONValue(parsing: body) else { throw .unavailable(detail: "not_json") }
        return answer
    }

    private func post(_ path: String, _ write: (inout JSONWriter) -> Void) async throws(Refusal) {
        _ = try await send(
            FetchRequest(
                .post, url: "\(apiURL)/v1beta/\(path)", headers: [("Content-Type", "application/json")],
                body: JSONWriter.object(write)))
    }

    private func send(_ request: FetchRequest) async throws(Refusal) -> [UInt8] {
        var request = request
        request.timeout = Self.timeout
        request.headers.append(("Accept", "application/json"))
        do {
            request.headers.append(("Authorization", "Bearer \(try account.bearer(at: clock.now()))"))
        } catch {
            throw .unavailable(detail: "signing")
        }
        let response: FetchResponse
        do {
            response = try await fetcher.fetch(request)
        } catch {
            throw .unavailable(detail: error.code.rawValue)
        }
        guard response.status != 200 else { return response.body }
        throw Refusal(response)
    }
}

extension GoogleEventStream.Refusal {
    fileprivate static let unexpectedAnswer = Self.unavailable(detail: "unexpected_json")

    fileprivate init(_ response: FetchResponse) {
        let error = (try? JSONValue(parsing: response.body))?["error"]
        let message = error?["message"]?.string.map(Self.printable)
        switch response.status {
        case 400: self = .invalid(message: message)
        case 401: self = .unauthenticated
        case 403: self = .forbidden(message: message)
        // Any server may answer 404; with an error object it is the API's answer about the stream.
        case 404 where error?.kind == .object: self = .noStream
        default: self = .unavailable(detail: "http_\(response.status)")
        }
    }

    /// The printable ASCII of a text: nothing in it can move a terminal's cursor.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(300).filter { 0x20..<0x7F ~= $0.value }))
    }
}

extension GoogleEventStream.Refusal: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "Google's RISC API did not do what was asked." }

    package var debugDescription: String {
        switch self {
        case .invalid(let message): "GoogleEventStream.Refusal(invalid: \(message ?? "-"))"
        case .unauthenticated: "GoogleEventStream.Refusal(unauthenticated)"
        case .forbidden(let message): "GoogleEventStream.Refusal(forbidden: \(message ?? "-"))"
        case .noStream: "GoogleEventStream.Refusal(no stream)"
        case .unavailable(let detail): "GoogleEventStream.Refusal(unavailable: \(detail))"
        }
    }
}
