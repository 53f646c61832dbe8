import Accounts
import HTTPAPI
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
        guard !request.isSpeculative else { return untouched }
        let call = call(of: request)
        guard try request.queryValues().all("flow").isEmpty else {
            let reference = try flowReference(of: request)
            let flow = try await signIn.flow(reference, by: call)
            return try await show(screen, typed: flow.loginHint, flow, reference, request)
        }
        let browser = try cookies.browser(of: request) ?? .fresh()
        let flow = try await signIn.openAccountFlow(
            browser: browser, by: call, languages: uiLocales(of: request))
        var response = redirect(to: "\(path)?flow=\(flow.id)", flow: flow)
        response.setCookie(cookies.cookie(browser))
        return response
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
                password: form.optionalString("password", maximumBytes: FieldLimit.newPassword),
                name: form.optionalString("name"),
                code: form.optionalString("code", maximumBytes: FieldLimit.emailCode), isAgain: form.asksAgain()
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
                return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { page, fault in
                    try registrationCodePage(page, flow, email: form.email, error: fault)
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
            return try await shownAgain(flow, after: error, wrong: .missingPassword, request) { page, fault in
                if form.password == nil, fault != .missingPassword {
                    return try registrationCodePage(page, flow, email: form.email, error: fault)
                }
                return try registerPage(page, flow, email: form.email, name: form.name, error: fault)
            }
        }
        let page = try await signIn.flow(flow, by: call)
        return response(
            try registrationCodePage(page, flow, email: form.email, isAgain: form.isAgain), to: request,
            flow: page)
    }

    // MARK: Forgotten password

    private func takeForgotten(_ request: Request) async throws -> Response {
        try requireMail()
        let (flow, form) = try flowForm(of: request, Self.forgotPath) { form in
            (
                screen: form.screen(), email: form.typedEmail(),
                code: form.optionalString("code", maximumBytes: FieldLimit.emailCode),
                newPassword: form.optionalString("newPassword", maximumBytes: FieldLimit.newPassword),
                isAgain: form.asksAgain()
            )
        }
        request.note(email: form.email)
        if let screen = form.screen { return try await show(screen, typed: form.email, flow, request) }
        let call = call(of: request)
        guard form.code != nil || form.newPassword != nil else {
            do throws(SignInFailure) {
                try await signIn.mailResetCode(to: form.email, in: flow, by: call)
            } catch {
                return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { page, fault in
                    try forgotPage(page, flow, .address, email: form.email, error: fault)
                }
            }
            let page = try await signIn.flow(flow, by: call)
            let sent = CodeStep.code(email: form.email, isAgain: form.isAgain)
            return response(try forgotPage(page, flow, sent), to: request, flow: page)
        }
        let step: WebStep
        do throws(SignInFailure) {
            guard let code = form.code, !code.isEmpty else { throw .missingCredential("code") }
            step = try await signIn.resetPassword(
                email: form.email, code: code, newPassword: form.newPassword ?? "", in: flow, by: call)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { page, fault in
                // One that was not wrong was not tried.
                let code = fault == .wrongCode ? nil : form.code
                return try forgotPage(page, flow, .code(email: form.email), code: code, error: fault)
            }
        }
        guard case .passwordReset(let page) = step else { return try await response(to: request, step) }
        let chooser = try chooserScreen(.first, page, flow, email: form.email, isPasswordReset: true)
        return response(chooser, to: request, flow: page)
    }

    // MARK: Pages

    func registerPage(
        _ flow: WebFlow, _ reference: FlowReference, email: String?, name: String? = nil, error: FormError? = nil
    ) throws -> RegisterPage {
        RegisterPage(
            purpose: flow.purpose, form: try reference.target(Self.registerPath), email: email, name: name,
            error: error)
    }

    func forgotPage(
        _ flow: WebFlow, _ reference: FlowReference, _ step: CodeStep, email: String? = nil, code: String? = nil,
        error: FormError? = nil
    ) throws -> ForgotPage {
        ForgotPage(
            purpose: flow.purpose, step: step, form: try reference.target(Self.forgotPath), email: email, code: code,
            error: error)
    }

    private func registrationCodePage(
        _ flow: WebFlow, _ reference: FlowReference, email: String, isAgain: Bool = false, error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: flow.purpose, reason: .register, step: .code(email: email, isAgain: isAgain),
            form: try reference.target(Self.registerPath), back: .button(Screen.register.rawValue), error: error)
    }
}
