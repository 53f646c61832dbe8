package import Logging
import Synchronization

/// The request on whose behalf a task works. Each line that the task logs, in any layer, has its id.
package final class RequestContext: Sendable {
    @TaskLocal static var current: RequestContext?

    let requestID: String
    let trace: TraceParent?
    private let recordedEmail = Mutex<String?>(nil)

    init(requestID: String, trace: TraceParent?) {
        self.requestID = requestID
        self.trace = trace
    }

    /// The email of the person that the request is about, as typed or as stated by the provider. It is for the
    /// request's own line, if the log may contain it.
    var email: String? {
        get { recordedEmail.withLock { $0 } }
        set { recordedEmail.withLock { $0 = newValue } }
    }

    /// The provider for the service's log: `requestId`, and `traceId` and `parentId` of a request that is part of a
    /// trace.
    package static let metadataProvider = Logger.MetadataProvider {
        guard let context = current else { return [:] }
        var metadata: Logger.Metadata = ["requestId": .string(context.requestID)]
        if let trace = context.trace {
            metadata["traceId"] = .string(trace.traceID)
            metadata["parentId"] = .string(trace.parentID)
        }
        return metadata
    }
}
