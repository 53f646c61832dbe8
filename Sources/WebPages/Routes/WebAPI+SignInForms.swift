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
                    (form.screen(), form.typedEmail(), form.mailedCode(), form.asksAgain())
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
            (
                form.screen(), form.typedEmail(),
                form.string("password", maximumBytes: FieldLimit.password, allowsControls: true)
            )
        }
        request.note(email: email)
        if let screen { return try await show(screen, typed: email, flow, request) }
        do throws(SignInFailure) {
            let step = try await signIn.password(email: email, password: password, in: flow, by: call(of: request))
            return try await response(to: request, step)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongPassword, request) { visit, fault in
                try passwordPage(visit, email: email, error: fault)
            }
        }
    }

    /// Another screen of the flow, with the address that was typed. It is in no URL, and so the way leads through a form;
    /// without one it ends at a page to which a browser goes back without sending the form once more.
    func show(
        _ screen: Screen, typed email: String, _ reference: FlowReference, _ request: Request
    ) async throws -> Response {
        let visit = try await visit(reference, request)
        guard !email.isEmpty else { return redirect(to: reference.link(screen), flow: visit.flow) }
        return try await show(screen, typed: email, visit)
    }

    func show(_ screen: Screen, typed email: String?, _ visit: FlowVisit) async throws -> Response {
        let flow = visit.flow
        guard flow.status.isOpen, flow.link == nil else { throw SignInFailure.webFlowExpired }
        // Who goes back from the code finds the name too.
        let kept = screen == .register ? try await registration(in: visit) : nil
        let page = try chooserScreen(screen, visit, email: email ?? kept?.email.text, name: kept?.displayName?.text)
        return response(page, in: visit)
    }

    /// What a new person has typed in an open flow, who is asked for the code by now.
    func registration(in visit: FlowVisit) async throws -> WebRegistration? {
        guard visit.flow.status.isOpen, visit.flow.link == nil, offersRegistration(in: visit.flow) else { return nil }
        return try await signIn.registration(in: visit.reference, by: call(of: visit.request))
    }

    private func mailCode(
        to email: String, isAgain: Bool, _ flow: FlowReference, _ request: Request
    ) async throws -> Response {
        do throws(SignInFailure) {
            try await signIn.mailCode(to: email, in: flow, by: call(of: request))
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                try emailCodePage(visit, .address, email: email, error: fault)
            }
        }
        let visit = try await visit(flow, request)
        return response(try emailCodePage(visit, .code(email: email, isAgain: isAgain)), in: visit)
    }

    private func take(
        _ code: String, of email: String, _ flow: FlowReference, _ request: Request
    ) async throws -> Response {
        do throws(SignInFailure) {
            let step = try await signIn.emailCode(email: email, code: code, in: flow, by: call(of: request))
            return try await response(to: request, step)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                try emailCodePage(visit, .code(email: email), error: fault)
            }
        }
    }

    /// The form with what was wrong.
    ///
    /// - Throws: a failure that another try doesn't mend, also because the flow is over.
    func shownAgain(
        _ reference: FlowReference, after failure: SignInFailure, wrong: FormError, _ request: Request,
        _ page: (FlowVisit, FormError) throws -> any WebPage
    ) async throws -> Response {
        guard let fault = FormError(failure, wrong: wrong), let visit = try? await visit(reference, request)
        else { throw failure }
        return response(try page(visit, fault), after: failure, in: visit)
    }

    // MARK: Pages

    func passwordPage(_ visit: FlowVisit, email: String?, error: FormError? = nil) throws -> PasswordPage {
        PasswordPage(
            purpose: visit.flow.purpose, form: try visit.target("/web/password"),
            offersEmailCode: offersEmailCode(in: visit.flow),
            offersRegistration: offersRegistration(in: visit.flow), email: email, error: error)
    }

    func emailCodePage(
        _ visit: FlowVisit, _ step: CodeStep, email: String? = nil, error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: visit.flow.purpose, reason: .signIn, step: step, form: try visit.target("/web/email-code"),
            back: .button(Screen.first.rawValue), email: email, error: error)
    }
}

extension Fields {
    /// Where a button of the form leads besides, with what was typed: the value of the button.
    mutating func screen() -> WebAPI.Screen? { optionalChoice("to", of: WebAPI.Screen.self) }

    /// White space in it means nothing, a tab that was pasted along neither.
    mutating func mailedCode() -> String? {
        optionalString("code", maximumBytes: FieldLimit.emailCode, allowsControls: true)
    }

    /// Whether the button was pressed that asks for the mail with the code once more.
    mutating func asksAgain() -> Bool { optionalString("again") != nil }
}
