import Accounts
import HTTPAPI
import HTTPServer
import SignIn

/// The choice of a person who is not known, in a flow that ends here: *create* or *bind*.
extension WebAPI {
    /// What proves the account with nothing typed.
    private enum UntypedProof: String {
        case ticket
    }

    /// What was typed on the screens of the choice. Their forms hand it on to one another.
    struct TypedText: Sendable {
        var email: String?
        var displayName: String?
    }

    /// What a form of *bind* proves the account by.
    private struct BindForm {
        let screen: Screen?
        let typed: TypedText
        let proof: UntypedProof?
        let provider: Provider?
        let password: String?
        let code: String?
        /// Whether the code is to be mailed once more.
        let isAgain: Bool
        let isReplacing: Bool
        /// The identity that was shown as the one to replace.
        let existing: IdentityID?

        var email: String? { typed.email }

        init(_ form: inout Fields) {
            screen = form.screen()
            typed = TypedText(&form)
            proof = form.optionalChoice("proof", of: UntypedProof.self)
            provider = form.optionalChoice("provider", of: Provider.self)
            password = form.optionalString("password", maximumBytes: FieldLimit.password, allowsControls: true)
            code = form.mailedCode()
            isAgain = form.asksAgain()
            isReplacing = form.optionalChoice("onConflict", of: ConflictResolution.self) == .replace
            existing = form.optionalValue("existing", as: IdentityID.init)
        }
    }

    var linkRoutes: [Route] {
        [
            Route(.post, "/web/link/create") { request in try await create(request) },
            Route(.post, "/web/link/bind") { request in
                let (flow, form) = try flowForm(of: request, "/web/link/bind") { BindForm(&$0) }
                request.note(email: form.email)
                if let screen = form.screen { return try await show(screen, typed: form.typed, flow, request) }
                if let provider = form.provider {
                    let url = try await signIn.startProof(
                        by: provider, replacing: form.isReplacing ? form.existing : nil, in: flow,
                        by: call(of: request))
                    return redirect(to: url)
                }
                switch (form.proof, form.email, form.password, form.code) {
                case (.ticket, nil, nil, nil):
                    return try await bind(form, .ticket, flow, request)
                case (nil, let email?, let password?, nil):
                    return try await bind(form, .password(email: email, password: password), flow, request)
                case (nil, let email?, nil, let code?):
                    return try await bind(form, .emailCode(email: email, code: code), flow, request)
                case (nil, let email?, nil, nil):
                    return try await mailBindCode(to: email, isAgain: form.isAgain, form.typed, flow, request)
                default:
                    throw Problem(field: "proof", .notAllowed)
                }
            },
            Route(.post, "/web/link/cancel") { request in
                let (flow, _) = try flowForm(of: request, "/web/link/cancel") { _ in }
                let step = try await signIn.cancelLink(in: flow, by: call(of: request))
                return try await response(to: request, step)
            },
        ]
    }

    private func create(_ request: Request) async throws -> Response {
        let (flow, form) = try flowForm(of: request, "/web/link/create") { form in
            (
                screen: form.screen(), typed: TypedText(&form),
                password: form.newPassword("password")
            )
        }
        if let screen = form.screen { return try await show(screen, typed: form.typed, flow, request) }
        do throws(SignInFailure) {
            let step = try await signIn.create(
                in: flow, displayName: form.typed.displayName.flatMap(DisplayName.init),
                password: form.password.flatMap { $0.isEmpty ? nil : $0 }, by: call(of: request))
            return try await response(to: request, step)
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                guard let link = visit.flow.link else { throw SignInFailure.webFlowExpired }
                return try linkScreen(.create, visit, link, typed: form.typed, fault: fault)
            }
        }
    }

    private func bind(
        _ form: BindForm, _ credential: BindCredential, _ flow: FlowReference, _ request: Request
    ) async throws -> Response {
        let failure: SignInFailure
        do throws(SignInFailure) {
            let step = try await signIn.bind(
                in: flow, credential: credential, replacing: form.isReplacing, by: call(of: request))
            return try await response(to: request, step)
        } catch {
            failure = error
        }
        if case .providerAlreadyLinked(let existing) = failure {
            return try conflict(
                with: existing, ConflictPage.Proof(credential), typed: form.typed, try await visit(flow, request))
        }
        let wrong: FormError =
            switch credential {
            case .ticket: .holderChanged
            case .emailCode: .wrongCode
            case .password, .session: .wrongPassword
            }
        return try await shownAgain(flow, after: failure, wrong: wrong, request) { visit, fault in
            guard let link = visit.flow.link else { throw SignInFailure.webFlowExpired }
            if let email = form.email, form.code != nil {
                return try bindCodePage(visit, .code(email: email), form.typed, error: fault)
            }
            let isLost = fault == .holderChanged && link.provenHolder == nil
            return try linkScreen(.bind, visit, link, typed: form.typed, fault: isLost ? .holderLost : fault)
        }
    }

    /// The question whether another identity of the account is replaced.
    private func conflict(
        with existing: Identity, _ proof: ConflictPage.Proof, typed: TypedText, _ visit: FlowVisit
    ) throws -> Response {
        guard let link = visit.flow.link else { throw SignInFailure.webFlowExpired }
        let page = try conflictPage(with: existing, proof, typed, visit, link)
        return response(page, after: .providerAlreadyLinked(existing), in: visit)
    }

    /// Another screen, with what was typed.
    private func show(
        _ screen: Screen, typed: TypedText, _ reference: FlowReference, _ request: Request
    ) async throws -> Response {
        let visit = try await visit(reference, request)
        guard let link = visit.flow.link, link.ticketName == reference.ticket else {
            throw SignInFailure.webFlowExpired
        }
        return response(try linkScreen(screen, visit, link, typed: typed), in: visit)
    }

    private func mailBindCode(
        to email: String, isAgain: Bool, _ typed: TypedText, _ flow: FlowReference, _ request: Request
    ) async throws -> Response {
        do throws(SignInFailure) {
            try await signIn.mailBindCode(to: email, in: flow, by: call(of: request))
        } catch {
            return try await shownAgain(flow, after: error, wrong: .wrongCode, request) { visit, fault in
                try bindCodePage(visit, .address, typed, error: fault)
            }
        }
        let visit = try await visit(flow, request)
        return response(try bindCodePage(visit, .code(email: email, isAgain: isAgain), typed), in: visit)
    }
}

// MARK: - Pages

extension WebAPI {
    /// - Parameters:
    ///   - typed: on the screens before.
    ///   - fault: what has become of the step before.
    func linkScreen(
        _ screen: Screen?, _ visit: FlowVisit, _ link: LinkRequired, typed: TypedText = TypedText(),
        fault: FormError? = nil
    ) throws -> any WebPage {
        if screen == .confirm, link.provenHolder != nil {
            return try bindPage(visit, link, typed, isConfirming: true)
        }
        if screen == .email, offersBindCode(link) {
            var typed = typed
            typed.email = typed.email ?? link.ownEmail
            return try bindCodePage(visit, .address, typed, error: fault)
        }
        let choices = offeredChoices(of: link, in: visit.flow)
        switch link.choice(on: screen, of: choices) {
        case .create:
            return try createPage(visit, link, typed, error: fault)
        case .bind:
            return try bindPage(visit, link, typed, error: fault)
        case nil:
            return LinkPage(
                purpose: visit.flow.purpose, source: link.source, email: link.ownEmail,
                choices: choices.map { choice in
                    switch choice {
                    case .create: .init(choice: choice, link: visit.reference.link(.create))
                    case .bind: .init(choice: choice, link: visit.reference.link(.bind))
                    }
                },
                holder: link.holder.map { AccountHolder($0) }, cancel: try visit.choiceTarget("/web/link/cancel"),
                error: fault ?? (link.choices.isEmpty ? FormError.emailTaken : nil))
        }
    }

    /// Who is about to change their account, or to delete it, has one: they get no other. Where none has their address they
    /// sign in another way.
    private func offeredChoices(of link: LinkRequired, in flow: WebFlow) -> [LinkChoice] {
        guard flow.errand != nil else { return link.choices }
        return link.isOfNewPerson ? [] : link.choices.filter { $0 != .create }
    }

    /// A mailbox that was proven proves its own account alone.
    private func offersBindCode(_ link: LinkRequired) -> Bool {
        guard case .identity = link.person else { return false }
        return signIn.configuration.offersEmailCode
    }

    private func createPage(
        _ visit: FlowVisit, _ link: LinkRequired, _ typed: TypedText, error: FormError?
    ) throws -> CreatePage {
        CreatePage(
            purpose: visit.flow.purpose, source: link.source, email: link.ownEmail,
            form: try visit.choiceTarget("/web/link/create", keeping: ["email": typed.email]),
            offersPassword: link.source == .mailbox, displayName: typed.displayName ?? link.suggestedName?.text,
            takesAddressFrom: link.losingHolder.map { AccountHolder($0) },
            offersBind: link.choices.contains(.bind), cancel: try visit.choiceTarget("/web/link/cancel"), error: error)
    }

    /// Where a form that may bind goes, which keeps the name that was typed for a new account.
    private func bindTarget(_ visit: FlowVisit, _ typed: TypedText) throws -> FormTarget {
        try visit.choiceTarget("/web/link/bind", keeping: ["displayName": typed.displayName])
    }

    private func bindPage(
        _ visit: FlowVisit, _ link: LinkRequired, _ typed: TypedText, isConfirming: Bool = false,
        error: FormError? = nil
    ) throws -> BindPage {
        let target = try bindTarget(visit, typed)
        return BindPage(
            purpose: visit.flow.purpose, source: link.source, holder: link.holder.map { AccountHolder($0) },
            takenAddress: link.holder == nil && link.choices == [.bind] ? link.ownEmail : nil,
            confirm: link.provenHolder == nil ? nil : target,
            clears: link.provenHolder?.account.emailProof != .proven,
            password: link.source == .mailbox || isConfirming ? nil : target,
            providers: isConfirming ? [] : provers(of: link).map { .init(provider: $0, form: target) },
            offersEmailCode: offersBindCode(link), isCodeRight: isConfirming,
            create: offeredChoices(of: link, in: visit.flow).contains(.create) ? target : nil,
            cancel: try visit.choiceTarget("/web/link/cancel"), email: typed.email ?? link.ownEmail, error: error)
    }

    /// The providers that a browser can be sent to for a proof.
    private func provers(of link: LinkRequired) -> [Provider] {
        link.provers.filter { signIn.configuration.providers.contains($0) }
    }

    /// The question to which who has proven the account at a provider is sent. Nobody else is shown the identity: its id, which
    /// the address names, is known to them alone.
    ///
    /// - Returns: `nil` where the account doesn't have it any more.
    func conflictPage(at address: QueryValues, _ visit: FlowVisit, _ link: LinkRequired) throws -> ConflictPage? {
        guard let existing = link.conflicting, address.only("existing") == existing.id.description,
            let prover = provers(of: link).first(where: { $0.rawValue == address.only("by") })
        else { return nil }
        return try conflictPage(with: existing, .provider(prover, replacing: existing.id), TypedText(), visit, link)
    }

    private func conflictPage(
        with existing: Identity, _ proof: ConflictPage.Proof, _ typed: TypedText, _ visit: FlowVisit,
        _ link: LinkRequired
    ) throws -> ConflictPage {
        ConflictPage(
            purpose: visit.flow.purpose, source: link.source, email: link.ownEmail, existing: HeldIdentity(existing),
            proof: proof, replace: try bindTarget(visit, typed), keep: try visit.choiceTarget("/web/link/cancel"))
    }

    private func bindCodePage(
        _ visit: FlowVisit, _ step: CodeStep, _ typed: TypedText, error: FormError? = nil
    ) throws -> EmailCodePage {
        EmailCodePage(
            purpose: visit.flow.purpose, reason: .bind, step: step, form: try bindTarget(visit, typed),
            back: .button(Screen.bind.rawValue), email: typed.email, error: error)
    }
}

extension FlowVisit {
    /// Where a form of the choice goes, which is about the ticket that the page shows.
    fileprivate func choiceTarget(_ action: String, keeping typed: [String: String?] = [:]) throws -> FormTarget {
        guard let link = flow.link else { throw SignInFailure.webFlowExpired }
        return try target(action, keeping: typed, about: .ticket(link.ticketName))
    }
}

extension WebAPI.TypedText {
    fileprivate init(_ form: inout Fields) {
        self.init(email: form.typed("email"), displayName: form.optionalString("displayName"))
    }
}

extension LinkRequired {
    fileprivate var source: ProvenSource {
        switch person {
        case .identity(let identity):
            switch identity.key.provider {
            case .apple: .apple
            case .google: .google
            }
        case .mailbox: .mailbox
        }
    }

    /// The person's own address. That of a relay says nothing to them.
    fileprivate var ownEmail: String? {
        switch person {
        case .identity(let identity): identity.email.flatMap { $0.isPrivateRelay ? nil : $0.address.text }
        case .mailbox(let email): email.text
        }
    }

    /// Whether no account has the address that a provider states: to make one is what is left to do.
    fileprivate var isOfNewPerson: Bool {
        guard case .identity = person else { return false }
        return choices.first == .create && holder == nil
    }

    /// The choice whose screen is shown; `nil` for the question.
    ///
    /// - Parameter choices: those that are offered.
    fileprivate func choice(on screen: WebAPI.Screen?, of choices: [LinkChoice]) -> LinkChoice? {
        switch screen {
        case .create where choices.contains(.create): .create
        case .bind where choices.contains(.bind): .bind
        // There is no question where one answer is left, and none for who is new: from their screen a button leads to an
        // account of theirs.
        default: choices.count == 1 ? choices.first : isOfNewPerson && !choices.isEmpty ? .create : nil
        }
    }

    /// The account whose mailbox the ticket proves.
    fileprivate var provenHolder: ShownHolder? { holder.flatMap { $0.showsIdentities ? $0 : nil } }

    /// The account that loses its address to the person by *create*: not one that they were led to by another address than
    /// the one they came with.
    fileprivate var losingHolder: ShownHolder? {
        guard let holder, holder.account.email == person.email, holder.showsIdentities || person.readsMailbox else {
            return nil
        }
        return holder
    }
}

extension LinkRequired.Person {
    /// Whether they have come by a proof of the mailbox.
    fileprivate var readsMailbox: Bool {
        switch self {
        case .identity(let identity): AddressEvidence(identity.email).provesMailbox
        case .mailbox: true
        }
    }
}

extension AccountHolder {
    fileprivate init(_ holder: ShownHolder) {
        if holder.showsIdentities {
            self.init(
                identities: holder.account.identities.map { HeldIdentity($0) }, createdAt: holder.account.createdAt)
        } else {
            self.init(identities: holder.account.providers.map { HeldIdentity(provider: $0) }, createdAt: nil)
        }
    }
}

extension HeldIdentity {
    fileprivate init(_ identity: Identity) {
        self.init(provider: identity.key.provider, maskedEmail: identity.email?.masked, linkedAt: identity.linkedAt)
    }
}

extension ConflictPage.Proof {
    /// The proof that *replace* gives once more.
    fileprivate init(_ credential: BindCredential) {
        switch credential {
        case .password(let email, _): self = .password(email: email)
        case .emailCode(let email, let code): self = .emailCode(email: email, code: code)
        // No form of the pages posts an access token.
        case .ticket, .session: self = .ticket
        }
    }
}
