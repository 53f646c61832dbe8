import Foundation
import OpenSSL
import Testing

@testable import countersign

/// What the doctor says of the web sign-in.
@Suite struct DoctorWebTests {
    private static func findings(_ variables: [String: String]) async throws -> [String] {
        let setup = try ConfigurationSetup(variables)
        if variables["APPLE_TEAM_ID"] != nil {
            let key = String(decoding: try P256PrivateKey().pem(), as: UTF8.self)
            setup.environment["COUNTERSIGN_APPLE_PRIVATE_KEY_PATH"] = try setup.file("apple.p8", key)
        }
        return try await Doctor.with(setup.environment) { await $0.webSignIn() }.map(\.line)
    }

    private static let app = [
        "WEB_APPS": "lamp", "SERVER_PUBLIC_URL": "https://auth.example.com",
        "WEB_APP_LAMP_REDIRECT_URIS": "https://a.example/in,http://127.0.0.1/in,com.example.lamp:/in",
    ]

    @Test func `what is off is said`() async throws {
        #expect(try await Self.findings([:]) == ["ok webSignIn: is off: neither web.apps nor oauth.enabled is set"])
        let buttons = try await Self.findings(Self.app)
        #expect(buttons.contains("ok webSignIn: no Apple button: apple.servicesId is not set"))
        #expect(buttons.contains("ok webSignIn: no Google button: google.serverClientId is not set"))
        #expect(buttons.allSatisfy { $0.hasPrefix("ok ") })
    }

    @Test func `what has to be registered at the providers is printed`() async throws {
        let findings = try await Self.findings(
            Self.app.merging([
                "APPLE_SERVICES_ID": "com.example.web", "APPLE_TEAM_ID": "ABCDE12345", "APPLE_KEY_ID": "FGHIJ67890",
                "GOOGLE_CLIENT_IDS": "g", "GOOGLE_SERVER_CLIENT_ID": "g", "GOOGLE_SERVER_CLIENT_SECRET": "canary",
                "WEB_APP_LAMP_APPLE_RELAY_PACKAGE": "com.example.lamp",
            ]) { $1 })
        let base = "https://auth.example.com/web"
        #expect(
            findings == [
                "note webSignIn: Apple must have \(base)/callback/apple as a Return URL of the Services ID com.example.web",
                "note webSignIn: Google must have \(base)/callback/google as a redirect URI of the client g",
                "ok webSignIn: the app lamp has 1 link, 1 loopback address, 1 private scheme: another app can claim a "
                    + "scheme, and its people are asked for a click",
                "note webSignIn: Apple must have \(base)/relay/apple/lamp as a Return URL of the Services ID that the app names",
            ])
    }

    @Test func `for the clients of account linking it is on without an app`() async throws {
        let findings = try await Self.findings([
            "OAUTH_ENABLED": "true", "SERVER_PUBLIC_URL": "https://auth.example.com",
            "APPLE_SERVICES_ID": "com.example.web", "GOOGLE_CLIENT_IDS": "g", "GOOGLE_SERVER_CLIENT_ID": "g",
            "GOOGLE_SERVER_CLIENT_SECRET": "canary",
        ])
        #expect(findings.count == 2, "\(findings)")
        #expect(findings.first?.hasPrefix("warning webSignIn: ") == true, "\(findings)")
        #expect(findings.first?.contains("a Services ID and no key") == true, "\(findings)")
        #expect(
            findings.last
                == "note webSignIn: Google must have https://auth.example.com/web/callback/google as a redirect URI of the "
                + "client g")
    }

    @Test func `a Services ID without a key and an address on this machine are warnings`() async throws {
        var variables = Self.app
        variables["APPLE_SERVICES_ID"] = "com.example.web"
        variables["SERVER_PUBLIC_URL"] = "http://127.0.0.1:8080"
        let warnings = try await Self.findings(variables).filter { $0.hasPrefix("warning ") }
        #expect(warnings.count == 2, "\(warnings)")
        #expect(warnings.first?.contains("Apple takes no such Return URL") == true)
        #expect(warnings.last?.contains("a Services ID and no key") == true)
    }
}
