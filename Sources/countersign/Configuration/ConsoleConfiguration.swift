import Accounts
import Foundation
import Primitives

/// How people come into the console.
struct ConsoleConfiguration: Sendable {
    /// By Google.
    struct Google: Sendable {
        let clientID: String
        let clientSecret: String
        let hostedDomain: String
        let staff: ConsoleStaff
        let authorizeURL: String
        let tokenURL: String
        let issuers: [String]
    }

    /// Nil where staff don't sign in with Google.
    let google: Google?
    let acceptsKeys: Bool
    /// Google's keys, whether or not staff sign in with it: a reload may let them.
    let keysURL: String

    init(from reader: inout ConfigurationReader, beside provider: GoogleConfiguration?) {
        acceptsKeys = reader.value(Settings.Console.keySignIn)
        let clientID = reader.optional(Settings.Console.clientID)
        let secret = reader.optional(Settings.Console.clientSecretPath).map { path in
            Self.secret(in: path, &reader)
        }
        let domain = reader.optional(Settings.Console.hostedDomain)
        let names = reader.value(Settings.Console.staff)
        let people = Self.people(names, from: &reader)
        let authorizeURL = provider?.authorizeURL ?? reader.value(Settings.Google.authorizeURL)
        let tokenURL = provider?.tokenURL ?? reader.value(Settings.Google.tokenURL)
        let issuers = provider?.issuers ?? reader.value(Settings.Google.issuers)
        keysURL = provider?.keysURL ?? reader.value(Settings.Google.keysURL)
        let settings: [(name: String, isSet: Bool)] = [
            (Settings.Console.clientID.name, clientID != nil),
            (Settings.Console.clientSecretPath.name, secret != nil),
            (Settings.Console.hostedDomain.name, domain != nil),
            // A list with a fault is there.
            (Settings.Console.staff.name, !names.isEmpty || reader.isRefused(Settings.Console.staff.name)),
        ]
        if let present = settings.first(where: \.isSet) {
            for missing in settings where !missing.isSet {
                reader.refuse(missing.name, "is required beside \(present.name)")
            }
        } else if !acceptsKeys {
            reader.refuse(
                Settings.Console.keySignIn.name, "is false, and nobody else could sign in: list console.staff")
        }
        if let clientID, provider?.allClients.contains(where: { $0.hasSameBytes(as: clientID) }) == true {
            reader.refuse(
                Settings.Console.clientID.name,
                "is a client of the apps (google.*): a token of theirs would be one of the console's")
        }
        guard let clientID, let secret, let domain, !people.isEmpty else {
            google = nil
            return
        }
        google = Google(
            clientID: clientID, clientSecret: secret, hostedDomain: domain, staff: ConsoleStaff(people),
            authorizeURL: authorizeURL, tokenURL: tokenURL, issuers: issuers)
    }

    private static func people(_ names: [String], from reader: inout ConfigurationReader) -> [ConsoleStaff.Person] {
        var people: [ConsoleStaff.Person] = []
        for name in names {
            // A search of the trail would take it for all who are of the kind.
            if AuditEvent.Actor(rawValue: name) != nil {
                reader.refuse(Settings.Console.staff.name, "has \(name), which the trail calls others")
            }
            let settings = Settings.Console.Person(name)
            let scopes = reader.value(settings.scopes).compactMap(AdminKey.Scope.init(rawValue:))
            guard let email = EmailAddress(reader.value(settings.email)) else { continue }
            if let other = people.first(where: { $0.email == email }) {
                reader.refuse(settings.email.name, "is the address of \(other.name): a person has one name")
            }
            people.append(ConsoleStaff.Person(name: name, email: email, scopes: Set(scopes)))
        }
        return people
    }

    /// Empty after a fault.
    private static func secret(in path: String, _ reader: inout ConfigurationReader) -> String {
        let setting = Settings.Console.clientSecretPath
        guard let bytes = reader.secretFile(setting, path) else { return "" }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if text.isEmpty { reader.refuse(setting, path, "names an empty file") }
        if text.utf8.contains(where: { !(0x21...0x7E).contains($0) }) {
            reader.refuse(setting, path, "names a file with more than a secret in it")
        }
        return text
    }
}

extension GoogleConfiguration {
    /// The clients that tokens of the apps may be for, or come from.
    fileprivate var allClients: [String] { clientIDs + authorizedParties }
}
