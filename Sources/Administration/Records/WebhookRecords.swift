import Accounts
package import JSON
import Webhooks

extension WebhookSummary: AdminRecord {
    package static let fields: [RecordField<WebhookSummary>] = [
        .code("name", "Endpoint") { $0.endpoint.name },
        .code("url", "Address") { $0.endpoint.shownURL },
        .codes("types", "Events") { $0.endpoint.types.map(\.rawValue).sorted() },
        RecordField("status", "Status") { .status($0.record.status.rawValue, isBad: $0.record.status == .stopped) },
        .code("reason", "Reason") { $0.record.reason },
        .number("behindSeconds", "Behind, seconds") { Int(clamping: $0.behindSeconds) },
        .number("failures", "Given up") { $0.record.failures },
        .time("lastSuccessAt", "Last success") { $0.record.lastSuccessAt },
        .code("lastError", "Last error") { $0.record.lastError },
    ]
}

extension WebhookTest: AdminRecord {
    package static let fields: [RecordField<WebhookTest>] = [
        .flag("delivered", "Delivered") { $0.isDelivered },
        RecordField("status", "Status") { $0.status.map(RecordValue.number) },
        .code("error", "Error") { $0.error?.description },
    ]

    private var status: Int? {
        switch outcome {
        case .delivered(let status): status
        case .failed(_, let status, _): status
        case .gone: 410
        case .busy, .untried: nil
        }
    }

    private var error: WebhookError? {
        switch outcome {
        case .failed(let error, _, _): error
        case .gone: .status(410)
        case .delivered, .busy, .untried: nil
        }
    }

    /// Why it was not delivered, in a sentence; `nil` where it was.
    var failure: String? { error.map { "The receiver did not take the test: \($0.words)." } }
}

extension WebhookError {
    /// What has happened, and how lists name it.
    fileprivate var words: String {
        switch self {
        case .addressRefused: "its address is none that is posted to (\(self))"
        case .resolveFailed: "the name of its host was not found (\(self))"
        case .connectFailed: "no connection to it was made, or it broke off (\(self))"
        case .tlsFailed: "no encrypted connection to it was made (\(self))"
        case .timedOut: "it did not answer in time (\(self))"
        case .redirected: "it answered with a redirect, which is not followed (\(self))"
        case .status(let status): "it answered with status \(status)"
        }
    }
}

extension WebhookFailure {
    /// The event as it was pushed, and why it was given up.
    package func members(to writer: inout JSONWriter) {
        writer.name("event")
        writer.object(event.write)
        writer.member("attempts", attempts)
        writer.member("lastError", lastError)
        writer.member("givenUpAt", givenUpAt.rfc3339)
    }

    package var line: String { JSONWriter.text(members) }
}
