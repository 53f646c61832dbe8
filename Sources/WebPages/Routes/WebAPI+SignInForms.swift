import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// Signing in on our own page: by a password, by a mailed code.
extension WebAPI {
    var formRoutes: [Route] {
        [
            Route(.post, "/web/password") { request in try await takePassword(request) },
            Route(.post, "/web/email-code") { request in
                let (flow, (screen, email, code, isAgain)) = try flowForm(of: request, "/web/email-code") { form in
                    (
                        form.screen(), form.typedEmail(),
                        form.optionalString("code", maximumBytes: FieldLimit.emailCode), form.asksAgain()
                    )
                }
                request.note(email: email)
                if let screen { return try await show(screen, typed: email, flow, request) }
                guard let code else { return try await mailCode(to: email, isAgain: isAgain, flow, request) }
                return try await take(code, of: email, flow, request)
            },
        ]
    }

    private func takePassword(_ request: Request) async throws -> Response {
        let (flow, (screen, email, password)) = try flowForm(of: request, "/web/password") { form in
            (form.screen(), form.typedEmail(), form.string("password", maximumBytes: FieldLimit.password))
        }
        request.note(email: email)
        if let screen { return try await show(screen, typed: email, flow, request) }
        do throws(SignInFailure) {
            let step = try await signIn.password(email: email, password: password, in: flow, by: call(of: request))
            return try await response(to: request, step)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongPassword, request) { page, fault in
                try passwordPage(page, flow, email: email, error: fault)
            }
        }
    }

    /// Another screen of the flow, with the address that was typed. It is in no URL, and so the way leads through a form;
    /// without one it ends at a page to which a browser goes back without sending the form once more.
    func show(
        _ screen: Screen, typed email: String, _ reference: FlowReference, _ request: Request
    ) async throws -> Response {
        let flow = try await signIn.flow(reference, by: call(of: request))
        guard !email.isEmpty else { return redirect(to: reference.link(screen), flow: flow) }
        return try await show(screen, typed: email, flow, reference, request)
    }

    func show(
        _ screen: Screen, typed email: String?, _ flow: WebFlow, _ reference: FlowReference, _ request: Request
    ) async throws -> Response {
        guard flow.status.isOpen, flow.link == nil else { throw SignInFailure.webFlowExpired }
        // Who goes back from the code finds the name too.
        let kept =
            screen == .register && offersRegistration(in: flow)
            ? try await signIn.registration(in: reference, by: call(of: request)) : nil
        let page = try chooserScreen(
            screen, flow, reference, email: email ?? kept?.email.text, name: kept?.displayName?.text)
        return response(page, to: request, flow: flow)
    }

    private func mailCode(
        to email: String, isAgain: Bool, _ flow: FlowReference, _ request: Request
    ) async throws -> Response {
        do throws(SignInFailure) {
            try await signIn.mailCode(to: email, in: flow, by: call(of: request))
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { page, fault in
                try emailCodePage(page, flow, .address, email: email, error: fault)
            }
        }
        let page = try await signIn.flow(flow, by: call(of: request))
        return response(
            try emailCodePage(page, flow, .code(email: email, isAgain: isAgain)), to: request, flow: page)
    }

    private func take(
        _ code: String, of email: String, _ flow: FlowReference, _ request: Request
    ) async throws -> Response {
        do throws(SignInFailure) {
            let step = try await signIn.emailCode(email: email, code: code, in: flow, by: call(of: request))
            return try await response(to: request, step)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { page, fault in
                try emailCodePage(page, flow, .code(email: email), error: fault)
            }
        }
    }

    /// The form with what was wrong.
    ///
    /// - Throws: a failure that another try doesn't mend, also because the flow is over.
    func shownAgain(
        _ reference: FlowReference, after failure: SignInFailure, wrong: FormError, _ request: Request,
        _ page: (WebFlow, FormError) throws -> any WebPage
    ) async throws -> Response {
        guard let fault = FormError(failure, wrong: wrong),
            let flow = try? await signIn.flow(reference, by: call(of: request))
        else { throw failure }
        return response(try page(flow, fault), after: failure, to: request, flow: flow)
    }

    // MARK: Pages

    func passwordPage(
        _ flow: WebFlow, _ reference: FlowReference, email: String?, error: FormError? = nil
    ) throws -> PasswordPage {
        PasswordPage(
            purpose: flow.purpose, form: try reference.target("/web/password"),
            offersEmailCode: offersEmailCode(in: flow), offersRegistration: offersRegistration(in: flow), email: email,
            error: error)
    }

    func emailCodePage(
        _ flow: WebFlow, _ reference: FlowReference, _ step: CodeStep, email: String? = nil,
        error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: flow.purpose, reason: .signIn, step: step, form: try reference.target("/web/email-code"),
            back: .button(Screen.first.rawValue), email: email, error: error)
    }
}

extension Fields {
    /// Where a button of the form leads besides, with what was typed: the value of the button.
    mutating func screen() -> WebAPI.Screen? { optionalChoice("to", of: WebAPI.Screen.self) }

    /// Whether the button was pressed that asks for the mail with the code once more.
    mutating func asksAgain() -> Bool { optionalString("again") != nil }
}
