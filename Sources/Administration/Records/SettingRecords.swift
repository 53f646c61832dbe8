package import Accounts

// What is set up: keys, clients, replacements of addresses.

extension AdminKey: AdminRecord {
    package static let fields: [RecordField<AdminKey>] = [
        .id("keyId", "Key") { $0.id },
        .text("name", "Name") { $0.name },
        .codes("scopes", "Scopes") { $0.scopes.map(\.rawValue).sorted() },
        .time("createdAt", "Made") { $0.createdAt },
        .time("lastUsedAt", "Used") { $0.lastUsedAt },
        .time("revokedAt", "Revoked") { $0.revokedAt },
    ]
}

/// A client of the OAuth server, and all that it may have.
package struct OAuthClientRecord: AdminRecord {
    package let client: OAuthClient
    package let scopes: OAuthScopes

    package static let fields: [RecordField<OAuthClientRecord>] = [
        .code("clientId", "Client") { $0.client.id.text },
        .text("name", "Name") { $0.client.name },
        .codes("redirectUris", "Redirect URIs") { $0.client.redirectURIs.map(\.text) },
        .codes("scopes", "Scopes") { $0.scopes.texts },
        .codes("assertionAudiences", "Audiences of assertions") { $0.client.assertionAudiences },
        .flag("requirePkce", "PKCE required") { $0.client.requiresPKCE },
        .flag("rotateRefresh", "Refresh tokens rotate") { $0.client.rotatesRefresh },
        .flag("streamlinedCreate", "Makes accounts") { $0.client.createsAccounts },
        .flag("introspect", "Introspects") { $0.client.introspects },
        .status(bad: OAuthClient.Status.disabled.rawValue) {
            $0.client.status.rawValue
        },
        .time("createdAt", "Made") { $0.client.createdAt },
        .time("previousSecretExpiresAt", "Secret before until") { $0.client.previousSecretExpiresAt },
    ]
}

extension EmailReplacement: AdminRecord {
    package static let fields: [RecordField<EmailReplacement>] = [
        .text("email", "Address") { $0.email.text },
        .time("requestedAt", "Requested") { $0.requestedAt },
        .time("dueAt", "In effect") { $0.dueAt },
        .text("requestedBy", "By") { $0.requestedBy },
    ]
}
