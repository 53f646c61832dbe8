public import Foundation

/// What another app asks for: a code for its client, to be returned to its URI. Only ``AppFlipLink`` makes one, of a link
/// that the configuration allows.
public struct AppFlipRequest: Sendable {
    public let clientID: String
    /// In the order of the link; empty when the link names none.
    public let scopes: [String]
    /// As it has to be sent back.
    public let state: String
    /// One of the configuration's.
    public let redirectURI: String
    private let returnTo: ReturnURL

    init(clientID: String, scopes: [String], state: String, returnTo: ReturnURL) {
        self.clientID = clientID
        self.scopes = scopes
        self.state = state
        self.redirectURI = returnTo.redirectURI
        self.returnTo = returnTo
    }

    /// The URL to open when there is a code.
    public func success(code: String) -> URL { returnTo.adding([("code", code), ("state", state)]) }

    /// The URL to open when there is none.
    ///
    /// - Parameter description: one sentence for people.
    public func failure(_ error: AppFlipError, description: String? = nil) -> URL {
        returnTo.failure(error, description: description, state: state)
    }
}

/// A redirect URI that may be opened, with what is added to its query.
struct ReturnURL: Sendable {
    let redirectURI: String
    private let url: URL

    /// - Returns: nil for text that is no URL, or has a fragment, after which nothing can be added.
    init?(_ redirectURI: String) {
        guard !redirectURI.utf8.contains(UInt8(ascii: "#")), let url = URL(string: redirectURI) else { return nil }
        self.redirectURI = redirectURI
        self.url = url
    }

    /// Values are encoded down to unreserved characters. A query that the URI has stays as it is.
    func adding(_ parameters: [(name: String, value: String)]) -> URL {
        let separator = redirectURI.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return URL(string: redirectURI + separator + FormText.encode(parameters)) ?? url
    }

    /// - Parameter state: nil when the request had none that can be sent back.
    func failure(_ error: AppFlipError, description: String? = nil, state: String?) -> URL {
        let parameters = [("error", error.rawValue), ("error_description", description), ("state", state)]
        return adding(parameters.compactMap { name, value in value.map { (name, $0) } })
    }
}

extension AppFlipRequest: Equatable {
    /// By bytes.
    public static func == (first: Self, second: Self) -> Bool { first.key == second.key }

    /// Names the request in a store without showing it.
    var key: String {
        let parameters = [
            ("client_id", clientID), ("scope", scopes.joined(separator: " ")), ("state", state),
            ("redirect_uri", redirectURI),
        ]
        return Base64URL.encode(sha256(Data(FormText.encode(parameters).utf8)))
    }
}

extension AppFlipRequest: Redacted {
    public var description: String { "AppFlipRequest(\(redirectURI), scopes: \(scopes), state: \(redacted(state)))" }
}
