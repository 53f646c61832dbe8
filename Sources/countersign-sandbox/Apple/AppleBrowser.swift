import Hummingbird
import JSON

/// Apple's authorization page, `/auth/authorize`, and what its form leads to.
struct AppleBrowser: Sendable {
    let accounts: AppleAccounts
    let authorizer: AppleAuthorizer
    let plan: BrowserPlan
    let faults: FaultPlan
    let history: RequestHistory

    func add(to group: RouterGroup<SandboxContext>) {
        group.get("auth/authorize") { request, context in try await open(request, context) }
        group.post("auth/authorize") { request, context in try await choose(request, context) }
    }

    private func open(_ request: Request, _ context: SandboxContext) async throws -> Response {
        let asked = try AppleBrowserRequest(request.uri.query ?? "", accounts: accounts)
        if let choice = plan.nextChoice(for: asked.clientID) {
            return try await answer(asked, choice, request, context)
        }
        return BrowserPage.chooser(
            .apple, clientID: asked.clientID, action: request.pageAddress, persons: accounts.persons.map(Self.listed)
        ).response()
    }

    private func choose(_ request: Request, _ context: SandboxContext) async throws -> Response {
        let asked = try AppleBrowserRequest(request.uri.query ?? "", accounts: accounts)
        let form: EndpointForm
        do {
            form = try await EndpointForm(request)
        } catch let fault as EndpointForm.Fault {
            throw BrowserRefusal(.apple, fault)
        }
        let choice = try BrowserChoice(form, at: .apple)
        guard choice.action == nil else { return try await answer(asked, choice, request, context) }
        let person = try person(choice)
        return BrowserPage.consent(
            .apple, clientID: asked.clientID, action: request.pageAddress, person: Self.listed(person),
            fields: fields(asked, person)
        ).response()
    }

    private func person(_ choice: BrowserChoice) throws(BrowserRefusal) -> ApplePerson {
        let name = choice.person ?? ""
        do {
            return try accounts.person(name)
        } catch {
            throw BrowserRefusal(provider: .apple, code: .invalidRequest, reason: "There is no person \(name).")
        }
    }

    private static func listed(_ person: ApplePerson) -> BrowserPage.Person {
        BrowserPage.Person(name: person.name, displayName: person.displayName, email: person.email)
    }

    /// The choices of a first consent; later ones have none.
    private func fields(_ asked: AppleBrowserRequest, _ person: ApplePerson) -> HTML {
        guard !accounts.isConsented(person.name, clientID: asked.clientID) else {
            return "<p>The client knows this person already and gets neither name nor address again.</p>"
        }
        let name: HTML = """
            <label>First name <input name="givenName" autocomplete="given-name" value="\(person.givenName ?? "")"></label>
            <label>Last name <input name="familyName" autocomplete="family-name" value="\(person.familyName ?? "")"></label>
            """
        let hidden: HTML? = person.hidesEmail ? " checked" : nil
        let shared: HTML? = person.hidesEmail ? nil : " checked"
        let address: HTML = """
            <fieldset>
            <legend>Email</legend>
            <label><input type="radio" name="hideEmail" value="false"\(shared)> Share My Email</label>
            <label><input type="radio" name="hideEmail" value="true"\(hidden)> Hide My Email</label>
            </fieldset>
            """
        return """
            \(asked.scopes.contains(.fullName) ? name : nil)
            \(asked.scopes.contains(.email) ? address : nil)
            """
    }

    // MARK: The answer

    private func answer(
        _ asked: AppleBrowserRequest, _ choice: BrowserChoice, _ request: Request, _ context: SandboxContext
    ) async throws -> Response {
        let person = choice.action == .cancel ? nil : try person(choice)
        let alteration = try await faults.nextAlteration(of: request, context, history: history)
        var answer = BrowserAnswer(at: .apple, to: asked.redirectURI, as: asked.mode)
        if let person {
            try await authorize(person, asked, choice, alteration, &answer)
        } else {
            answer.append("state", asked.state)
            answer.append("error", "user_cancelled_authorize")
        }
        answer.apply(alteration)
        return answer.response(sendsForm: plan.sendsForms)
    }

    private func authorize(
        _ person: ApplePerson, _ asked: AppleBrowserRequest, _ choice: BrowserChoice,
        _ alteration: BrowserAlteration, _ answer: inout BrowserAnswer
    ) async throws {
        let credential = try await authorizer.authorize(
            AppleAuthorization(
                person: person.name, clientID: asked.clientID, nonce: asked.nonce, scopes: asked.scopes,
                redirectURI: asked.redirectURI,
                hidesEmail: asked.scopes.contains(.email) ? choice.hidesEmail ?? person.hidesEmail : nil,
                overrides: alteration.overrides, exchange: alteration.exchange))
        answer.append("state", asked.state)
        answer.append("code", credential.authorizationCode)
        if asked.wantsToken { answer.append("id_token", credential.identityToken) }
        if credential.isFirst, !asked.scopes.isEmpty {
            answer.append(
                "user",
                Self.user(
                    givenName: choice.givenName ?? credential.givenName,
                    familyName: choice.familyName ?? credential.familyName, email: credential.email,
                    scopes: asked.scopes))
        }
    }

    /// The `user` of a first consent: JSON that nothing signs.
    private static func user(
        givenName: String?, familyName: String?, email: String?, scopes: Set<AppleAuthorization.Scope>
    ) -> String {
        JSONWriter.text { writer in
            if scopes.contains(.fullName) {
                writer.object("name") { writer in
                    writer.member("firstName", givenName)
                    writer.member("lastName", familyName)
                }
            }
            if scopes.contains(.email) { writer.member("email", email) }
        }
    }
}

extension FaultPlan {
    /// The alteration of the answer that is being made, noted in the history, after its delay.
    func nextAlteration(
        of request: Request, _ context: SandboxContext, history: RequestHistory
    ) async throws -> BrowserAlteration {
        guard let fault = nextAlteration(method: request.method.rawValue, path: request.uri.path),
            case .altered(let alteration) = fault.effect
        else { return .none }
        if let entry = context.historyEntry { history.note(fault: fault.name.rawValue, in: entry) }
        if fault.delay > .zero { try await Task.sleep(for: fault.delay) }
        return alteration
    }
}
