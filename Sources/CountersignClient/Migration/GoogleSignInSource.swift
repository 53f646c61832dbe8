import Foundation

/// What Google Sign-In for iOS 1 to 4 stored, in up to three items: `fingerprint` of the account `GooglePlus` names the
/// item of the account `OAuth` that has the session in GTMOAuth2's format; the name with `~~atrp` has what was sent
/// besides, which a refresh does without.
///
/// The keychain outlives the app: after a fresh installation, leave this source out.
public struct GoogleSignInSource: LegacySource {
    public let name: String
    private let bundleID: String
    private let item: @Sendable (_ account: String, _ service: String) -> any SessionStore

    /// - Parameters:
    ///   - bundleID: of the app that stored it.
    ///   - item: the keychain item of an account and service: `{ KeychainStore(itemName: $1, account: $0) }`.
    public init(
        bundleID: String, name: String = "GoogleSignIn",
        item: @escaping @Sendable (_ account: String, _ service: String) -> any SessionStore
    ) {
        self.bundleID = bundleID
        self.name = name
        self.item = item
    }

    public func load() throws -> LegacySession? {
        guard let fingerprint = try fingerprint(), let data = try session(fingerprint).load(), !data.isEmpty else {
            return nil
        }
        guard let clientID = clientID(of: fingerprint) else {
            throw SessionError.storage("the fingerprint names no client of the app")
        }
        let scheme = clientID.split(separator: ".", omittingEmptySubsequences: false).reversed().joined(separator: ".")
        guard let tokenURL = URL(string: "https://oauth2.googleapis.com/token") else { return nil }
        return try GTMOAuth2Source(
            store: session(fingerprint), name: name, tokenURL: tokenURL, redirectURI: "\(scheme):/oauth2callback",
            clientID: clientID
        ).load()
    }

    /// The fingerprint last: without it the others could not be found again.
    public func remove() throws {
        guard let fingerprint = try fingerprint() else { return }
        try session(fingerprint).remove()
        try item("GooglePlus", "\(fingerprint)~~atrp").remove()
        try item("GooglePlus", "fingerprint").remove()
    }

    private func session(_ fingerprint: String) -> any SessionStore { item("OAuth", fingerprint) }

    private func fingerprint() throws -> String? {
        guard let data = try item("GooglePlus", "fingerprint").load(), !data.isEmpty else { return nil }
        return String(validating: Array(data))
    }

    /// Of `<bundleID>-<clientID>-<scopes…>`. Client IDs have hyphens too, and the end may be cut anywhere behind them.
    private func clientID(of fingerprint: String) -> String? {
        guard fingerprint.hasPrefix("\(bundleID)-") else { return nil }
        let rest = fingerprint.dropFirst(bundleID.count + 1)
        guard rest.first != "." else { return nil }
        if let suffix = rest.range(of: ".apps.googleusercontent.com"),
            suffix.upperBound == rest.endIndex || rest[suffix.upperBound] == "-"
        {
            return String(rest[..<suffix.upperBound])
        }
        let scopes = ["-email", "-profile", "-https://"].compactMap { rest.range(of: $0, options: .backwards) }
        guard let end = scopes.map(\.lowerBound).max(), end > rest.startIndex else { return nil }
        return String(rest[..<end])
    }
}

extension GoogleSignInSource: Redacted {
    public var description: String { "GoogleSignInSource(\(name))" }
}
