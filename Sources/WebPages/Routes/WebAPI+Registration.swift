import Accounts
import HTTPServer
import SignIn

/// Registering by an address and a password, and the way out for who has forgotten theirs. Both begin in a flow, or open one
/// that ends at the page of the account; where no mail is sent they are not there.
extension WebAPI {
    private static let registerPath = "/web/register"
    private static let forgotPath = "/web/forgot"

    var registrationRoutes: [Route] {
        [
            Route(.get, Self.registerPath) { request in try await begin(.register, Self.registerPath, request) },
            Route(.post, Self.registerPath) { request in try await takeRegistration(request) },
            Route(.get, Self.forgotPath) { request in try await begin(.forgot, Self.forgotPath, request) },
            Route(.post, Self.forgotPath) { request in try await takeForgotten(request) },
        ]
    }

    private func begin(_ screen: Screen, _ path: String, _ request: Request) async throws -> Response {
        try requireMail()
        guard !request.isSpeculative else { return untouched(request) }
        let call = call(of: request)
        guard try request.queryValues().all("flow").isEmpty else {
            let visit = try await visit(try flowReference(of: request), request)
            // The code's page has this address too, and may be loaded again.
            if screen == .register, let waiting = try await registration(in: visit) {
                return response(try registrationCodePage(visit, email: waiting.email.text), in: visit)
            }
            return try await show(screen, typed: visit.flow.loginHint, visit)
        }
        let browser = try cookies.browser(of: request) ?? .fresh()
        let flow = try await signIn.openAccountFlow(browser: browser, by: call, languages: uiLocales(of: request))
        return redirect(to: "\(path)?flow=\(flow.id)", flow: flow).setting(cookies.cookie(browser))
    }

    private func requireMail() throws {
        guard signIn.configuration.offersEmailCode else { throw Problem(.notFound) }
    }

    // MARK: Registration

    private func takeRegistration(_ request: Request) async throws -> Response {
        try requireMail()
        let (flow, form) = try flowForm(of: request, Self.registerPath) { form in
            (
                screen: form.screen(), email: form.typedEmail(),
                password: form.newPassword("password"),
                name: form.optionalString("name"), code: form.mailedCode(), isAgain: form.asksAgain()
            )
        }
        request.note(email: form.email)
        if let screen = form.screen { return try await show(screen, typed: form.email, flow, request) }
        let call = call(of: request)
        if let code = form.code {
            do throws(SignInFailure) {
                let step = try await signIn.confirmRegistration(code: code, in: flow, by: call)
                return try await response(to: request, step)
            } catch {
                return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                    try registrationCodePage(visit, email: form.email, error: fault)
                }
            }
        }
        do throws(SignInFailure) {
            if let password = form.password {
                try await signIn.register(
                    email: form.email, password: password, displayName: form.name.flatMap(DisplayName.init),
                    in: flow, by: call)
            } else {
                try await signIn.mailRegistrationCode(in: flow, by: call)
            }
        } catch {
            return try await shownAgain(flow, after: error, wrong: .missingPassword, request) { visit, fault in
                if form.password == nil, fault != .missingPassword {
                    return try registrationCodePage(visit, email: form.email, error: fault)
                }
                return try registerPage(visit, email: form.email, name: form.name, error: fault)
            }
        }
        let visit = try await visit(flow, request)
        return response(try registrationCodePage(visit, email: form.email, isAgain: form.isAgain), in: visit)
    }

    // MARK: Forgotten password

    private func takeForgotten(_ request: Request) async throws -> Response {
        try requireMail()
        let (flow, form) = try flowForm(of: request, Self.forgotPath) { form in
            (
                screen: form.screen(), email: form.typedEmail(), code: form.mailedCode(),
                newPassword: form.newPassword("newPassword"), isAgain: form.asksAgain()
            )
        }
        request.note(email: form.email)
        if let screen = form.screen { return try await show(screen, typed: form.email, flow, request) }
        let call = call(of: request)
        guard form.code != nil || form.newPassword != nil else {
            do throws(SignInFailure) {
                try await signIn.mailResetCode(to: form.email, in: flow, by: call)
            } catch {
                return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                    try forgotPage(visit, .address, email: form.email, error: fault)
                }
            }
            let visit = try await visit(flow, request)
            return response(try forgotPage(visit, .code(email: form.email, isAgain: form.isAgain)), in: visit)
        }
        let step: WebStep
        do throws(SignInFailure) {
            guard let code = form.code, !code.isEmpty else { throw .missingCredential("code") }
            step = try await signIn.resetPassword(
                email: form.email, code: code, newPassword: form.newPassword ?? "", in: flow, by: call)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                // One that was not wrong was not tried.
                let code = fault == .wrongCode ? nil : form.code
                return try forgotPage(visit, .code(email: form.email), code: code, error: fault)
            }
        }
        guard case .passwordReset(let begun) = step else { return try await response(to: request, step) }
        let next = FlowVisit(request: request, reference: flow, flow: begun)
        return response(try chooserScreen(.first, next, email: form.email, isPasswordReset: true), in: next)
    }

    // MARK: Pages

    func registerPage(
        _ visit: FlowVisit, email: String?, name: String? = nil, error: FormError? = nil
    ) throws -> RegisterPage {
        RegisterPage(
            purpose: visit.flow.purpose, form: try visit.target(Self.registerPath), email: email, name: name,
            error: error)
    }

    func forgotPage(
        _ visit: FlowVisit, _ step: CodeStep, email: String? = nil, code: String? = nil, error: FormError? = nil
    ) throws -> ForgotPage {
        ForgotPage(
            purpose: visit.flow.purpose, step: step, form: try visit.target(Self.forgotPath), email: email,
            code: code, error: error)
    }

    private func registrationCodePage(
        _ visit: FlowVisit, email: String, isAgain: Bool = false, error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: visit.flow.purpose, reason: .register, step: .code(email: email, isAgain: isAgain),
            form: try visit.target(Self.registerPath), back: .button(Screen.register.rawValue), error: error)
    }
}
