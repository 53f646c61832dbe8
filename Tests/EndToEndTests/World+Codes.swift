import Foundation
import OpenSSL
import TestSupport
import Testing

/// The settings that a service needs to exchange codes, and their registration at the sandbox.
extension World {
    static let appleTeam = "SANDBOX001"
    static let appleKeyID = "LAMPKEY001"
    static let googleSecret = "lamp-server-secret"

    /// The key of Apple's client secrets, one for the whole test run.
    static let appleKey = Result { try P256PrivateKey() }

    private static let appleKeyPath = Result {
        try privateFile("apple-key.p8", String(decoding: appleKey.get().pem(), as: UTF8.self))
    }

    /// Writes a file of this test run that other users can't read.
    static func privateFile(_ name: String, _ content: String) throws -> String {
        try ScratchDirectory.ofRun.write(name, content)
    }

    static func codeSettings(_ sandbox: Sandbox) throws -> Countersign.Settings {
        [
            "apple.teamId": appleTeam, "apple.keyId": appleKeyID, "apple.privateKeyPath": try appleKeyPath.get(),
            "apple.tokenUrl": sandbox.appleTokenURL, "apple.revokeUrl": sandbox.appleRevokeURL,
            "apple.userMigrationUrl": sandbox.appleUserMigrationURL,
            "google.serverClientId": Countersign.googleClient, "google.serverClientSecret": googleSecret,
            "google.tokenUrl": sandbox.googleTokenURL, "google.revokeUrl": sandbox.googleRevokeURL,
        ]
    }

    static func registerClients(at sandbox: Sandbox) async throws {
        try await sandbox.registerAppleKey(team: appleTeam, keyID: appleKeyID, appleKey.get())
        try await sandbox.registerGoogleClient(Countersign.googleClient, secret: googleSecret)
    }

    // MARK: People

    /// The credentials that either provider's SDK gives the app: a token, and a code for a refresh token.
    struct Credential: Sendable {
        let provider: Sandbox.Provider
        let token: String
        let code: String

        var both: TokenMint.Members { [tokenName: .string(token), codeName: .string(code)] }
        var codeAlone: TokenMint.Members { [codeName: .string(code)] }
        var tokenAlone: TokenMint.Members { [tokenName: .string(token)] }

        private var tokenName: String { provider == .apple ? "identityToken" : "idToken" }
        private var codeName: String { provider == .apple ? "authorizationCode" : "serverAuthCode" }
    }

    func authorize(
        _ person: String, _ provider: Sandbox.Provider = .apple, token: Sandbox.TokenChanges = .init()
    ) async throws -> Credential {
        switch provider {
        case .apple:
            let credential = try await sandbox.authorizeApple(
                person, clientID: Countersign.appleClient, repeatEmail: true, token: token)
            return Credential(provider: provider, token: credential.identityToken, code: credential.authorizationCode)
        case .google:
            let credential = try await sandbox.authorizeGoogle(
                person, clientID: Countersign.googleClient, token: token, forceConsent: true)
            return Credential(provider: provider, token: credential.idToken, code: credential.serverAuthCode)
        }
    }

    /// Creates an account of a new person by a code alone, so that a busy machine can't exceed the two seconds that a
    /// code has beside a token. Returns the answer to the creation.
    @discardableResult
    func newGrantedAccount(_ name: String, _ provider: Sandbox.Provider = .apple) async throws -> Answer {
        try await newPerson(name)
        let created = try await create(try await authorize(name, provider), by: \.codeAlone)
        #expect(try created.text("identity.authorization") == "active")
        return created
    }

    /// Signs in with everything that the phone has, or a part of it, and creates an account.
    func create(
        _ credential: Credential, by members: KeyPath<Credential, TokenMint.Members> = \.both
    ) async throws -> Answer {
        try await create(
            of: try await retryWhenLate {
                try await service.signIn(credential.provider, credential[keyPath: members])
            })
    }

    /// Creates an account by the link ticket of a sign-in.
    func create(of signedIn: Answer) async throws -> Answer {
        let ticket = try signedIn.linkTicket()
        return try await retryWhenLate { try await service.create(ticket) }.expecting(201)
    }

    // MARK: The provider's records

    /// The refresh tokens for which a person's codes were exchanged.
    func grants(of person: String, _ provider: Sandbox.Provider = .apple) async throws -> [Sandbox.Grant] {
        let client = provider == .apple ? Countersign.appleClient : Countersign.googleClient
        return try await sandbox.authorization(provider, person, clientID: client)?.grants ?? []
    }

    /// The number of exchanges of each code, by its fingerprint, at the token endpoint.
    func exchanges(_ provider: Sandbox.Provider = .apple) async throws -> [String: Int] {
        let codes = try await sandbox.history(path: provider.tokenPath).compactMap { $0.field("code") }
        return Dictionary(codes.map { ($0, 1) }, uniquingKeysWith: +)
    }

    /// The tokens, by their fingerprints, of every call to the revoke endpoint.
    func revokedTokens(_ provider: Sandbox.Provider = .apple) async throws -> [String] {
        try await sandbox.history(path: provider.revokePath).compactMap { $0.field("token") }
    }
}

extension Sandbox.Provider {
    var tokenPath: String { self == .apple ? "/apple/auth/token" : "/google/token" }
    var revokePath: String { self == .apple ? "/apple/auth/revoke" : "/google/revoke" }
}

extension Countersign {
    func signIn(_ provider: Sandbox.Provider, _ members: TokenMint.Members) async throws -> Answer {
        try await post("/v1/sign-in/\(provider.rawValue)", members)
    }

    /// Status 0 when the connection ended without an answer.
    func delete(_ path: String, bearer: String) async throws -> RawAnswer {
        try await exchange(port, "DELETE", path, authorization: "Bearer \(bearer)")
    }

    /// The value of a series of the metrics page; 0 when it is not there yet.
    func metric(_ name: String, _ labels: String...) async throws -> Double {
        let lines = try await privateGet("/metrics").text.split(separator: "\n")
        let start = name + (labels.isEmpty ? " " : "{")
        let line = lines.first { line in line.hasPrefix(start) && labels.allSatisfy(line.contains) }
        return line.flatMap { $0.split(separator: " ").last }.flatMap { Double($0) } ?? 0
    }
}
