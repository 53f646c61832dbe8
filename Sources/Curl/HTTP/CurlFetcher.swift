/// An HTTP client over libcurl: one thread for any number of requests. Connections are kept and shared; `https` speaks
/// HTTP/2 where the peer does (ALPN), `http` is for this machine alone.
package final class CurlFetcher: Fetcher {
    package struct Configuration: Sendable {
        /// Requests that libcurl handles at once. Each may need a socket of its own.
        package var maximumInFlight = 256
        /// Requests that wait to be in flight; one more is refused as `busy`.
        package var maximumWaiting = 1_024
        /// The most bytes of a response's status line, fields and trailers together, interim responses included.
        package var maximumHeaderBytes = 32_768
        /// Idle connections that are kept open.
        package var maximumIdleConnections = 32
        /// A PEM file of trusted certificates in place of the system's.
        package var caBundlePath: String?
        package var userAgent = "countersign"
        /// The thread's name in tools; the kernel keeps 15 bytes.
        package var threadName = "http-fetch"

        package init() {}
    }

    private let configuration: Configuration
    private let loop: TransferLoop

    /// Starts the thread. Throws `other` when libcurl or the system refuses.
    package init(configuration: Configuration = Configuration()) throws(FetchError) {
        self.configuration = configuration
        self.loop = try TransferLoop(configuration: configuration)
    }

    deinit { loop.stop() }

    package func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        guard !Task.isCancelled else { throw FetchError(.cancelled) }
        let transfer = try Transfer(request, configuration: configuration)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.submit(transfer, answering: continuation)
                // A cancellation that came just before the submission found nothing to cancel.
                if Task.isCancelled { loop.cancel(transfer) }
            }
        } onCancel: {
            loop.cancel(transfer)
        }
        return try outcome.get()
    }

    /// Fails what is outstanding with `stopped`, closes every connection and returns when the thread has ended.
    /// Later requests are refused with `stopped`.
    package func shutdown() async { await loop.stopped() }
}
