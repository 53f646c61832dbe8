import Hummingbird

/// The authorization page and what its form leads to. Each request has the whole query, which is checked again.
extension Provider {
    func addPage(to router: Router<SandboxContext>) {
        router.get("\(Profile.name.pagePath)") { request, context in try await open(request, context) }
        router.post("\(Profile.name.pagePath)") { request, context in try await choose(request, context) }
    }

    private func open(_ request: Request, _ context: SandboxContext) async throws -> Response {
        let asked = try Profile.asked(request, self)
        switch Profile.outcome(asked, plan.nextChoice(for: asked.clientID), self) {
        case .choice(let choice): return try await answer(asked, choice, request, context)
        case .error(let error):
            return try await answer(asked, request, context) { _ in Profile.refused(asked, error, self) }
        case nil:
            return BrowserPage.chooser(
                Profile.name, clientID: asked.clientID, action: request.pageAddress,
                persons: Profile.listed(accounts.persons, asked, seed: seed)
            ).response()
        }
    }

    private func choose(_ request: Request, _ context: SandboxContext) async throws -> Response {
        let asked = try Profile.asked(request, self)
        let choice: BrowserChoice
        do {
            choice = try BrowserChoice(try await EndpointForm(request), at: Profile.name)
        } catch let fault as EndpointForm.Fault {
            throw BrowserRefusal(Profile.name, fault)
        }
        guard choice.action == nil, Profile.needsConsentPage(asked, person: choice.person, self) else {
            return try await answer(asked, choice, request, context)
        }
        let person = try person(choice, asked)
        return BrowserPage.consent(
            Profile.name, clientID: asked.clientID, action: request.pageAddress, person: person,
            fields: Profile.consentFields(asked, person, self)
        ).response()
    }

    private func person(_ choice: BrowserChoice, _ asked: Profile.Asked) throws(BrowserRefusal) -> Profile.Person {
        let name = choice.person ?? ""
        let person: Profile.Person
        do {
            person = try accounts.person(name)
        } catch {
            throw BrowserRefusal(provider: Profile.name, code: .invalidRequest, reason: "There is no person \(name).")
        }
        try Profile.admit(person, asked, self)
        return person
    }

    private func answer(
        _ asked: Profile.Asked, _ choice: BrowserChoice, _ request: Request, _ context: SandboxContext
    ) async throws -> Response {
        guard choice.action != .cancel else {
            return try await answer(asked, request, context) { _ in Profile.refused(asked, Profile.cancelled, self) }
        }
        let person = try person(choice, asked)
        return try await answer(asked, request, context) { alteration in
            try await Profile.answer(asked, person, choice, alteration, self)
        }
    }

    private func answer(
        _ asked: Profile.Asked, _ request: Request, _ context: SandboxContext,
        _ parameters: (BrowserAlteration) async throws -> KeyValuePairs<String, String?>
    ) async throws -> Response {
        let alteration = try await faults.nextAlteration(of: request, context, history: history)
        var answer = BrowserAnswer(
            at: Profile.name, to: asked.redirectURI, as: asked.mode, try await parameters(alteration))
        answer.apply(alteration)
        return answer.response(sendsForm: plan.sendsForms)
    }
}

extension FaultPlan {
    /// The alteration of the answer that is being made, noted in the history, after its delay.
    fileprivate func nextAlteration(
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
