import Accounts

extension Act {
    static let workActs = [retryRevocation, replayEvent]

    package static let retryRevocation = Act(
        name: "retry", subject: .revocation, scope: .revoke, reason: .optional, isDangerous: false, label: "Retry",
        consequence: "The revocation is tried again at once.", result: "The revocation is tried again.",
        nothing: "There is nothing left to try again: it is done, or a newer revocation has what it was about."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        let revocation = try await administration.retry(try identifier(id), reason: input.reason, by: administrator)
        return .record(revocation, isChanged: revocation.status == .pending)
    }

    package static let replayEvent = Act(
        name: "replay", subject: .providerEvent, scope: .manage, reason: .optional, isDangerous: false,
        label: "Replay", consequence: "The event is processed again, as if it had just come.",
        result: "The event is processed again."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        .record(try await administration.replay(try identifier(id), reason: input.reason, by: administrator))
    }
}
