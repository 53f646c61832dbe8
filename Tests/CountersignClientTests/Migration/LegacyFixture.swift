import Foundation

@testable import CountersignClient

/// Sessions of older libraries; the archives are made by `Fixtures/make-archives.py`.
enum LegacyFixture {
    static let google = "7f3a.apps.googleusercontent.com"
    static let expiresAt = Date(timeIntervalSince1970: 1_795_233_600)
    static let past = Date(timeIntervalSince1970: 0)
    static let tokenURL = OAuthFixture.url("https://idp.example/token")

    static let text = [
        "access_token=at_made_up", "refresh_token=1%2F%2Frt_made_up", "scope=profile%20email",
        "serviceProvider=Google", "userEmail=ana%40example.net", "userEmailIsVerified=y", "userID=10769",
    ].joined(separator: "&")

    static func archive(_ name: String) throws -> Data {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Data(contentsOf: folder.appendingPathComponent("Fixtures/\(name).archive"))
    }

    static func session(_ text: String, redirectURI: String = "com.example:/cb") throws -> LegacySession {
        try LegacySession(
            gtmOAuth2Persistence: text, tokenURL: tokenURL, redirectURI: redirectURI, clientID: "old-client",
            clientSecret: "old-secret")
    }

    static func isStorage(_ error: any Error) -> Bool {
        guard case SessionError.storage = error else { return false }
        return true
    }
}
