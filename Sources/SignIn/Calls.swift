package import Accounts

/// Makes the call of each request: its time, and the origin of the changes that a person makes by it.
package struct Calls: Sendable {
    let clock: any WallClock
    let mailLanguages: MailLanguages

    /// - Parameter mailLanguages: those in which mail can be written, the default one first.
    package init(clock: any WallClock, mailLanguages: [String]) {
        self.clock = clock
        self.mailLanguages = MailLanguages(tags: mailLanguages)
    }

    package func begin(by caller: Caller) -> Call {
        Call(
            now: clock.now(),
            origin: ChangeOrigin(
                actor: .person, requestID: caller.requestID, network: caller.network,
                mailLanguage: mailLanguages.language(for: caller)),
            caller: caller)
    }

    /// The same call, whose mails are in one of these languages if they can be.
    func preferring(_ languages: [String], in call: Call) -> Call {
        let (origin, caller) = (call.origin, call.caller.preferring(languages))
        return Call(
            now: call.now,
            origin: ChangeOrigin(
                actor: origin.actor, actorName: origin.actorName, requestID: origin.requestID, network: origin.network,
                mailLanguage: mailLanguages.language(for: caller)),
            caller: caller)
    }
}
