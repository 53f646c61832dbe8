import Foundation
import TestSupport
import Testing

/// Whatever the stores write of an account is announced where it is written, or listed here with the reason why it is not.
/// It reads the sources, so that a new statement fails until it is decided.
@Suite struct FeedCoverageTests {
    /// Tables of which nothing is an event of an account.
    private static let silentTables: [String: String] = [
        "imported_rows": "which import made an account", "imports": "the runs of imports",
        "identity_transfers": "steps of a move between teams", "email_replacements": "not in effect yet",
        "provider_grants": "the provider's tokens", "provider_events": "what providers report, before it has an effect",
        "link_tickets": "of a person without an account", "mailbox_tickets": "likewise", "mailed_codes": "codes",
        "email_codes": "codes", "mailed_code_networks": "codes", "guessed_addresses": "guesses", "nonces": "nonces",
        "refused_tokens": "which of the provider's tokens count", "rate_limits": "counts",
        "web_flows": "a sign-in under way", "web_registrations": "of who has no account yet",
        "web_sessions": "the cookie of a session", "session_looks": "how far they were counted",
        "oauth_clients": "of no account", "oauth_codes": "tokens of a link", "oauth_access_tokens": "tokens of a link",
        "oauth_refresh_tokens": "tokens of a link",
        "oauth_chains": "tokens of a link: what ends the last of them ends the link in oauth_grants",
        "audit_events": "the trail", "audit_head": "the trail", "audit_seals": "the trail",
        "admin_keys": "administrators", "console_flows": "administrators", "console_sessions": "administrators",
        "console_staff": "administrators", "signing_keys": "our keys", "keyring_lines": "our keys",
        "account_events": "the feed itself", "account_sequences": "the feed itself", "feed_head": "the feed itself",
        "unstamped_events": "the feed itself", "restores": "when the database was restored",
        "webhook_endpoints": "what is pushed from it",
        "webhook_streams": "what is pushed from it", "webhook_parked": "what is pushed from it",
        "webhook_failures": "what is pushed from it",
    ]

    /// Statements on the tables of accounts that are no event, by file and function.
    private static let silentFunctions: [String: String] = [
        "DatabaseInspection.requireWritable": "writes no row",
        "LinkStore+Tickets.release": "how the provider's authorization stands",
        "RevocationStore+Stray.attach": "how the provider's authorization stands",
        "GrantStore.keep": "how the provider's authorization stands",
        "GrantStore.noteDead": "how the provider's authorization stands; its sessions end by `sessions.end`",
        "RevocationStore.finish": "how the provider's authorization stands; `end` announces that it is revoked",
        "RevocationStore.reassign": "which account hears of the end of a revocation; that it was merged is announced",
        "ProviderEventStore+Processing.set": "marks of an identity; what they do to sessions is announced there",
        "ProviderEventStore+Processing.endGrants": "how the provider's authorization stands",
        "AccountStore+Administration.unblock": "a mark of an identity, which stays linked",
        "AccountStore+Grading.notifySignIn": "whether a sign-in is mailed",
        "AccountStore+Unlinking.revokeAuthorization": "how the provider's authorization stands",
        "IdentityStore+NotBefore.refuseTokens": "which of the provider's tokens count",
        "IdentityStore+NotBefore.refuseProofs": "which of the provider's tokens count",
        "TransferStore.adopt": "the subject of an identity, which stays linked under its id",
        "AccountStore+Changes.deleteExpiredPendingEmails": "an address that was never the account's",
        "AccountStore+Changes.requestEmail": "an address that is not the account's yet",
        "AccountStore+Changes.rename": "a display name", "AccountStore.fillDisplayName": "a display name",
        "AccountStore.markImportedPasswordUsed": "a mark of a password that stays",
        "AccountStore.replaceImportedPassword": "the same password under another hash",
        "IdentityStore.signIn": "a sign-in", "SessionStore.insertion": "a sign-in",
        "SessionRefreshes.note": "where a session is refreshed from", "SessionRefreshes.swap": "a refresh",
        "SessionStore+Sweeping.deleteEnded": "sessions whose end was announced",
        "SessionStore+Sweeping.deleteExpired": "sessions that have expired",
        "SessionStore+Limit.endLongestUnused": "deletes sessions whose end was announced; it ends by `sessions.end`",
        "WebSessionStore.open": "how long a session lives", "WebSessionStore.use": "the use of a session",
        "OAuthRefreshes.refresh": "the use of a link", "OAuthGrantStore+Tokens.rotate": "the use of a link",
        "OAuthGrantStore+Codes.redeem": "the use of a link",
        "MailStore.insertion": "a mail", "MailStore+Work.finish": "a mail", "MailStore+Work.delete": "a mail",
        "MailStore+Work.giveUp": "a mail", "MailStore+Work.deleteExpired": "a mail",
        "ProviderEventStore+Processing.carryOut": "what the provider has ended; a link that goes is announced with it",
        "Outbox.claiming": "work under way", "Outbox.postpone": "work under way", "Outbox.giveUp": "not done",
        "RevocationStore.release": "work under way", "RevocationStore.enqueue": "asked for, not done",
        "RevocationStore.deleteDone": "what was announced", "RevocationStore.eraseSubjects": "what was announced",
        "RevocationRecords.retry": "asked for, not done",
        "ImportStore+Batches.write": "its caller announces the accounts: a rehearsal writes to temporary tables",
    ]

    private struct WritingFunction {
        let name: String
        let tables: Set<String>
        let announces: Bool
    }

    /// The functions of the sources that write, the innermost around each statement.
    private static func writingFunctions() throws -> [WritingFunction] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources/Storage")
            .standardized
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        return try files.flatMap { file in
            let lines = try String(contentsOf: file, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            let unit = file.deletingPathExtension().lastPathComponent
            return lines.indices.compactMap { index -> WritingFunction? in
                guard let head = lines[index].firstMatch(of: /^( *)(?:@\w+ )*(?:\w+ )*func (\w+)/) else { return nil }
                let end = lines[index...].firstIndex { $0.hasPrefix(head.1 + "}") } ?? lines.endIndex - 1
                let body = lines[index...end].joined(separator: "\n")
                let tables = body.matches(
                    of: /(?:INSERT INTO|\bUPDATE|DELETE FROM|\.delete\(\s*from:) "?(\\\([\w.]+\)|[a-z][\w.]*)/
                ).map { String($0.1) }
                guard !tables.isEmpty else { return nil }
                return WritingFunction(
                    name: "\(unit).\(head.2)", tables: Set(tables),
                    announces: body.contains(/announce\w*\(/))
            }
        }
    }

    @Test func `what is written of an account is announced there, or has a reason not to be`() throws {
        let functions = try Self.writingFunctions()
        #expect(functions.count > 90)
        // Names that the text of a statement puts together.
        let spelled = ["\\(codes)", "\\(table)", "\\(tables.rows)"]
        for function in functions where !function.announces {
            let tables = function.tables.filter { Self.silentTables[$0] == nil && !spelled.contains($0) }
            #expect(
                tables.isEmpty || Self.silentFunctions[function.name] != nil,
                "\(function.name) writes \(tables.sorted()), announces nothing and is not listed")
        }
        let names = Set(functions.filter { !$0.announces }.map(\.name))
        for listed in Self.silentFunctions.keys where !names.contains(listed) {
            Issue.record("\(listed) is listed and writes nothing by itself, or announces")
        }
        let accounts: Set<String> = ["accounts", "identities", "sessions", "oauth_grants"]
        #expect(accounts.isDisjoint(with: Self.silentTables.keys))
        #expect(accounts.isSubset(of: functions.filter(\.announces).flatMap(\.tables)))
    }
}
