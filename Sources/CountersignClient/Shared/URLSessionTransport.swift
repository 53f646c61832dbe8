package import Dispatch
public import Foundation

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

/// `URLSession` as the sessions need it: an answer within 15 s and of at most 16 MiB or none, no redirect followed, no
/// cookies, no cache, no stored credentials.
public struct URLSessionTransport: HTTPTransport {
    private let limits: AnswerLimits

    public init() { self.init(maximumBytes: 16 << 20) }

    /// - Parameter maximumBytes: how long the body of an answer may be. A longer one is given up at once, and is
    ///   `transient`.
    public init(maximumBytes: Int) { self.init(AnswerLimits(time: .seconds(15), bytes: maximumBytes)) }

    package init(_ limits: AnswerLimits) { self.limits = limits }

    public func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await Connections.shared.send(request, limits)
    }
}

/// What an answer may take.
package struct AnswerLimits: Sendable {
    /// In all.
    let time: DispatchTimeInterval
    /// Of its body.
    let bytes: Int

    package init(time: DispatchTimeInterval, bytes: Int) {
        self.time = time
        self.bytes = bytes
    }
}

/// The connections of all transports of the process. There is one `URLSession`: on Linux each keeps a thread and four
/// descriptors, also when it is invalidated.
private final class Connections: Sendable {
    static let shared = Connections()

    private let session: URLSession
    private let router = Router()

    private init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        session = URLSession(configuration: configuration, delegate: router, delegateQueue: nil)
    }

    func send(_ request: URLRequest, _ limits: AnswerLimits) async throws -> (Data, HTTPURLResponse) {
        var request = request
        request.httpShouldHandleCookies = false
        try Task.checkCancellation()
        let task = session.dataTask(with: request)
        let exchange = Exchange(maximumBytes: limits.bytes)
        router.add(exchange, for: task)
        // The time limits of URLSession begin again with each byte, on Linux all of them.
        let deadline = DispatchWorkItem {
            exchange.end(.failure(URLError(.timedOut)))
            task.cancel()
        }
        DispatchQueue.global().asyncAfter(deadline: .now() + limits.time, execute: deadline)
        defer {
            deadline.cancel()
            router.remove(task)
        }
        return try await withTaskCancellationHandler {
            task.resume()
            return try await exchange.answer.value.get()
        } onCancel: {
            exchange.end(.failure(CancellationError()))
            task.cancel()
        }
    }
}

/// One answer as it arrives.
private final class Exchange: Sendable {
    let answer = Waiter<Result<(Data, HTTPURLResponse), any Error>>()
    private let received = Locked<(response: HTTPURLResponse?, body: Data)>((nil, Data()))
    private let maximumBytes: Int

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// - Returns: whether the body may come; false when it says itself that it is too long.
    func begin(_ response: URLResponse) -> Bool {
        received.withLock { $0 = (response as? HTTPURLResponse, Data()) }
        guard response.expectedContentLength <= Int64(maximumBytes) else { return tooLong() }
        return true
    }

    /// - Returns: whether more of the body may come.
    func append(_ data: Data) -> Bool {
        let fits = received.withLock { received in
            guard data.count <= maximumBytes - received.body.count else { return false }
            received.body.append(data)
            return true
        }
        return fits || tooLong()
    }

    private func tooLong() -> Bool {
        end(.failure(URLError(.dataLengthExceedsMaximum)))
        return false
    }

    func complete(_ error: (any Error)?) {
        let received = received.withLock { $0 }
        if let error {
            end(.failure(error))
        } else if let response = received.response {
            end(.success((received.body, response)))
        } else {
            end(.failure(URLError(.badServerResponse)))
        }
    }

    /// The first end counts.
    func end(_ result: Result<(Data, HTTPURLResponse), any Error>) { answer.finish(result) }
}

/// The delegate of the session: hands what happens to a task to its exchange.
private final class Router: NSObject, URLSessionDataDelegate, Sendable {
    private let exchanges = Locked<[ObjectIdentifier: Exchange]>([:])

    func add(_ exchange: Exchange, for task: URLSessionTask) {
        exchanges.withLock { $0[ObjectIdentifier(task)] = exchange }
    }

    func remove(_ task: URLSessionTask) { _ = exchanges.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) } }

    private func exchange(of task: URLSessionTask) -> Exchange? { exchanges.withLock { $0[ObjectIdentifier(task)] } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    /// libcurl wants to send the body again, after a reused connection closed without an answer. Refused: the first
    /// request may have arrived, and a code in it must not be sent twice.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        exchange(of: task)?.end(.failure(URLError(.networkConnectionLost)))
        completionHandler(nil)
        // Not from the session's own queue, which cancelling waits for.
        DispatchQueue.global().async { task.cancel() }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(exchange(of: dataTask)?.begin(response) == false ? .cancel : .allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        guard exchange(of: dataTask)?.append(data) == false else { return }
        // Not from the session's own queue, which cancelling waits for.
        DispatchQueue.global().async { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        exchange(of: task)?.complete(error)
    }
}
