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

    /// Runs a closure with the path of a file that has these contents, by default those of `members`.
    package static func with<Result>(
        _ contents: String? = nil, mode: Int = 0o600, _ body: (String) async throws -> Result
    ) async throws -> Result {
        let directory = try ScratchDirectory()
        defer { directory.remove() }
        return try await body(directory.write("service-account.json", contents ?? members.text, mode: mode))
    }
}

extension Sandbox {
    /// Registers the account of `ServiceAccountFile`.
    package func registerServiceAccount(hasRole: Bool = true) async throws {
        try await registerServiceAccount(
            ServiceAccountFile.email, keyID: ServiceAccountFile.keyID, try TokenMint.shared.rsa, hasRole: hasRole)
    }
}
