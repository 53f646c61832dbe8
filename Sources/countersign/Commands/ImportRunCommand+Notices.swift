import AccountImport
import Accounts

extension ImportRunCommand {
    /// What there is to say of the source as a whole, beside what the report has of its rows. Of what it lacks nothing is known
    /// before its end.
    func notices(
        _ counts: ImportCounts, _ rules: RowRules, _ aliases: ProviderAliases, _ ending: ImportRun.Ending
    ) -> [String] {
        var notices: [String] = []
        let lacksSignerKey = source == .firebase && !skipPasswords && !rules.passwordKinds.contains(.firebase)
        if lacksSignerKey, counts.has(.passwordDropped(.firebase)) {
            notices.append(
                """
                \(Settings.Passwords.signerKeyPath.name) is not set, so Firebase's passwords are left out: set it before \
                the run; later none is added to a row that is in, unless the import is undone
                """)
        }
        if source == .firebase, !skipPasswords, counts.has(.passwordMissing) {
            notices.append(
                """
                of some people Firebase names a password and the source no hash (note password_missing): they sign in by a \
                link in a mail, or the account that listed them has no permission firebaseauth.configs.getHashConfig. Give \
                it that before the run; later no hash is added to a row that is in, unless the import is undone
                """)
        }
        if source == .auth0, !skipPasswords, counts.has(.passwordMissing) {
            notices.append(
                """
                of some people Auth0 has a password and the lines no passwordHash (note password_missing): merge the file of \
                hashes, which its support gives out, into them before the run; later none is added to a row that is in, \
                unless the import is undone
                """)
        }
        guard case .done(let isWhole) = ending else { return notices }
        if !isWhole {
            notices.append(
                """
                the source is one page, whose PaginationToken or NextToken says that more follow: those people are not in it. \
                Without --max-items and --no-paginate aws prints all of them
                """)
        }
        if appleTeam != nil, counts.rows > 0, !counts.hasAppleIdentity {
            let cause =
                if source == .firebase {
                    ": an older firebase-tools leaves them out of what it exports"
                } else if counts.has(.identitySkipped("")) {
                    "; where the WORD of a note identity_skipped:WORD is Apple's, give --provider-alias WORD=apple before the run"
                } else {
                    ""
                }
            notices.append("no row that can be brought in has an Apple identity, so --apple-team did nothing\(cause)")
        }
        if counts.lacksVerifiedAddress {
            notices.append(
                """
                the source calls no address verified, so all of them are claimed: the first mailed code to such an account \
                removes its password, its identities and its name. Where the old system has verified addresses, the source \
                lacks the field that says so
                """)
        }
        for alias in aliases.unmet {
            notices.append(
                """
                nothing in the source is called \(alias), so this --provider-alias did nothing: an alias is the word of a note \
                identity_skipped:WORD
                """)
        }
        return notices
    }
}
