import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// The name, the address and the password of the account.
extension WebAPI {
    var accountFormRoutes: [Route] {
        [
            Route(.get, AccountPath.name, priority: .reading) { request in
                try await show(request, for: .rename(typed: nil)) { visit in
                    let typed: String?
                    if case .rename(let text?) = visit.errand?.act {
                        typed = text
                    } else {
                        typed = visit.account.displayName?.text
                    }
                    return try namePage(visit, typed: typed)
                }
            },
            Route(.post, AccountPath.name) { request in try await takeName(request) },
            Route(.get, AccountPath.email, priority: .reading) { request in
                try await show(request, for: .changeEmail(typed: nil), isFresh: true) { visit in
                    let typed: String?
                    if case .changeEmail(let text?) = visit.errand?.act {
                        typed = text
                    } else {
                        let account = visit.account
                        typed = account.emailProof == .proven ? nil : account.email?.text
                    }
                    return try addressPage(visit, .address, typed: typed)
                }
            },
            Route(.post, AccountPath.email) { request in
                let (email, code, isAgain) = try accountForm(of: request, AccountPath.email) { form in
                    (form.typedEmail(), form.mailedCode(), form.asksAgain())
                }
                request.note(email: email)
                if let code { return try await takeAddressCode(code, typed: email, request) }
                return try await takeAddress(email, isAgain: isAgain, request)
            },
            Route(.post, AccountPath.keepAddress, priority: .revoking) { request in try await keepAddress(request) },
            Route(.get, AccountPath.password, priority: .reading) { request in
                try await showPassword(request)
            },
            Route(.post, AccountPath.password) { request in try await takePassword(request) },
        ]
    }

    // MARK: Name

    private func takeName(_ request: Request) async throws -> Response {
        let typed = try accountForm(of: request, AccountPath.name) { $0.optionalString("displayName") ?? "" }
        return try await visit(request, for: .rename(typed: typed), isFresh: false) { visit in
            let name = DisplayName(typed)
            guard name != nil || typed.allSatisfy(\.isWhitespace) else {
                let page = try namePage(visit, typed: typed, error: .invalidDisplayName)
                return response(account: page, .badRequest, to: request)
            }
            do throws(SignInFailure) {
                _ = try await accounts.rename(accountOf: visit.session, to: name, by: visit.call)
            } catch {
                return try await response(to: request, after: error, wrong: .invalidDisplayName) { fault in
                    try namePage(visit, typed: typed, error: fault)
                }
            }
            return try done(.renamed, visit)
        }
    }

    private func namePage(_ visit: AccountVisit, typed: String?, error: FormError? = nil) throws -> NamePage {
        NamePage(
            form: try visit.target(AccountPath.name), cancelLink: visit.accountLink, displayName: typed,
            isOfOtherAccount: visit.isOfOtherAccount, error: error)
    }

    // MARK: Address

    private func takeAddress(_ typed: String, isAgain: Bool, _ request: Request) async throws -> Response {
        try await visit(request, for: .changeEmail(typed: typed), isFresh: true) { visit in
            do throws(SignInFailure) {
                try await accounts.requestEmail(typed, of: visit.session, by: visit.call)
            } catch {
                return try await response(to: request, after: error, wrong: .wrongCode) { fault in
                    try addressPage(visit, .address, typed: typed, error: fault)
                }
            }
            let sent = CodeStep.code(email: typed, isAgain: isAgain)
            return response(account: try addressPage(visit, sent), to: request)
        }
    }

    /// - Parameter typed: the address to which the code was mailed.
    private func takeAddressCode(_ code: String, typed: String, _ request: Request) async throws -> Response {
        try await visit(request, for: .changeEmail(typed: typed), isFresh: false) { visit in
            do throws(SignInFailure) {
                try await emailCodes.verifyEmail(code: code, of: visit.session, by: visit.call)
            } catch {
                if try await isProven(typed, of: visit.session, after: error) { return try done(.emailChanged, visit) }
                return try await response(to: request, after: error, wrong: .wrongCode) { fault in
                    try addressPage(visit, .code(email: typed), error: fault)
                }
            }
            return try done(.emailChanged, visit)
        }
    }

    /// Whether the form with a code was refused because it comes once more: the address is the account's, and proven.
    func isProven(
        _ typed: String, of session: Session, after refusal: SignInFailure
    ) async throws(SignInFailure) -> Bool {
        guard case .invalidCredentials = refusal, let address = EmailAddress.existing(typed) else { return false }
        let account = try await accounts.account(of: session)
        return account.emailProof == .proven && account.email == address
    }

    /// Stops what support is about to do, at once and however long ago the sign-in was.
    private func keepAddress(_ request: Request) async throws -> Response {
        try accountForm(of: request, AccountPath.keepAddress) { _ in }
        return try await visit(request, for: nil, isFresh: false) { visit in
            try await accounts.cancelEmailReplacement(of: visit.session, by: visit.call)
            // Of one that has taken effect by now, or was stopped in another tab, nothing can be said.
            return try done(visit.account.emailReplacement == nil ? nil : .addressKept, visit)
        }
    }

    private func addressPage(
        _ visit: AccountVisit, _ step: CodeStep, typed: String? = nil, error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: .account, reason: .changeAddress, step: step, form: try visit.target(AccountPath.email),
            back: .link(visit.accountLink), email: typed, isOfOtherAccount: visit.isOfOtherAccount, error: error)
    }

    // MARK: Password

    private func showPassword(_ request: Request) async throws -> Response {
        guard !request.isSpeculative else { return untouched(request) }
        return try await visit(request, for: .changePassword, isFresh: false) { visit in
            // What there is proves the person; a first password needs a fresh sign-in.
            guard !visit.account.hasPassword else {
                return response(account: try passwordPage(visit), to: request)
            }
            return try await show(request, for: .changePassword, isFresh: true) { visit in
                try passwordPage(visit)
            }
        }
    }

    private func takePassword(_ request: Request) async throws -> Response {
        let (current, new) = try accountForm(of: request, AccountPath.password) { form in
            (
                form.optionalString("currentPassword", maximumBytes: FieldLimit.password, allowsControls: true),
                form.newPassword("newPassword") ?? form.string("newPassword")
            )
        }
        return try await visit(request, for: .changePassword, isFresh: current == nil) { visit in
            do throws(SignInFailure) {
                try await accounts.changePassword(of: visit.session, current: current, to: new, by: visit.call)
            } catch {
                // The form that has changed it comes once more. What can't be looked at is as wrong as it was.
                if case .wrongCurrentPassword? = FormError(error, wrong: .wrongCurrentPassword),
                    (try? await accounts.hasSetPassword(new, in: visit.session, by: visit.call)) == true
                {
                    return try done(.passwordChanged, visit)
                }
                return try await response(to: request, after: error, wrong: .wrongCurrentPassword) { fault in
                    try passwordPage(visit, error: fault)
                }
            }
            return try done(.passwordChanged, visit)
        }
    }

    private func passwordPage(_ visit: AccountVisit, error: FormError? = nil) throws -> NewPasswordPage {
        NewPasswordPage(
            form: try visit.target(AccountPath.password), cancelLink: visit.accountLink,
            hasPassword: visit.account.hasPassword, email: visit.account.email?.text,
            isOfOtherAccount: visit.isOfOtherAccount, error: error)
    }
}
