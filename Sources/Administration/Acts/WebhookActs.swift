import Accounts

extension Act {
    static let webhookActs = [testWebhook, pauseWebhook, resumeWebhook, replayWebhook]

    package static let testWebhook = Act(
        name: "test", subject: .webhook, scope: .manage, reason: .none, operation: nil, isDangerous: false,
        label: "Test", consequence: "An event of the type endpoint.test is posted to it now, also while it is paused.",
        result: "The receiver took the test."
    ) { administration, id, _, administrator throws(AdministrationFailure) in
        guard let failure = try await administration.testWebhook(id, by: administrator).failure else { return .done }
        return .failed(failure)
    }

    package static let pauseWebhook = Act(
        name: "pause", subject: .webhook, scope: .manage, reason: .optional, operation: .send("/pause"),
        isDangerous: false, label: "Pause",
        consequence: "Nothing is pushed to it until it is resumed. Its events wait in the feed.",
        result: "The endpoint is paused.", nothing: "The endpoint is paused already."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        let (webhook, isChanged) = try await administration.setWebhook(
            id, to: .paused, reason: input.reason, by: administrator)
        return .changed(webhook, isChanged: isChanged)
    }

    package static let resumeWebhook = Act(
        name: "resume", subject: .webhook, scope: .manage, reason: .optional, operation: .send("/resume"),
        isDangerous: false, label: "Resume",
        consequence: """
            Its events are pushed again, the oldest first. What waits because it has failed is tried at once, also where \
            the endpoint is active.
            """,
        result: "The endpoint is resumed.", nothing: "The endpoint is active already, and nothing waits there."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        let (webhook, isChanged) = try await administration.setWebhook(
            id, to: .active, reason: input.reason, by: administrator)
        return .changed(webhook, isChanged: isChanged)
    }

    package static let replayWebhook = Act(
        name: "replay", subject: .webhook, scope: .manage, reason: .none, fields: [.since], operation: nil,
        isDangerous: false, label: "Replay",
        consequence: "The events since then are pushed once more, beside what is new.",
        result: "The events are pushed once more.", nothing: "There is no event since then."
    ) { administration, id, input, administrator throws(AdministrationFailure) in
        guard let since = input.since else { return .nothing }
        let count = try await administration.replayWebhook(id, .since(since), types: nil, by: administrator)
        return count > 0 ? .done : .nothing
    }
}
