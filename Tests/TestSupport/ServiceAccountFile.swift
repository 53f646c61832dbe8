import Foundation
import OpenSSL

/// The key file of a service account with the mint's RSA key, as Google's console hands it out.
package enum ServiceAccountFile {
    package static let email = "risc@lamp-project.iam.gserviceaccount.com"
    package static let keyID = "5d0c0ffee0ddf00d0ba5eba110ca7e5500000719"

    package static var members: TokenMint.Members {
        get throws {
            [
                "type": "service_account", "project_id": "lamp-project", "private_key_id": .string(keyID),
                "private_key": .string(String(decoding: try TokenMint.shared.rsa.pem(), as: UTF8.self)),
                "client_email": .string(email), "client_id": "109876543210987654321",
                "auth_uri": "https://accounts.google.com/o/oauth2/auth",
                "token_uri": "https://oauth2.googleapis.com/token",
                "auth_provider_x509_cert_url": "https://www.googleapis.com/oauth2/v1/certs",
                "client_x509_cert_url": "https://www.googleapis.com/robot/v1/metadata/x509/risc",
                "universe_domain": "googleapis.com",
            ]
        }
    }

    /// Runs a closure with the path of a file that has these bytes, by default those of `members`.
    package static func with<Result>(
        _ bytes: [UInt8]? = nil, mode: Int = 0o600, isolation: isolated (any Actor)? = #isolation,
        _ body: (String) async throws -> Result
    ) async throws -> Result {
        let file = FileManager.default.temporaryDirectory.appending(path: "service-account-\(UUID().uuidString).json")
        let contents = Data(try bytes ?? members.bytes)
        let isWritten = FileManager.default.createFile(
            atPath: file.path, contents: contents, attributes: [.posixPermissions: mode])
        guard isWritten else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: file.path]) }
        defer { try? FileManager.default.removeItem(at: file) }
        return try await body(file.path)
    }
}

extension Sandbox {
    /// Registers the account of `ServiceAccountFile`.
    package func registerServiceAccount(hasRole: Bool = true) async throws {
        try await registerServiceAccount(
            ServiceAccountFile.email, keyID: ServiceAccountFile.keyID, try TokenMint.shared.rsa, hasRole: hasRole)
    }
}
