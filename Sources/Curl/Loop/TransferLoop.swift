import CCurl
import Primitives
import Synchronization

/// The thread that drives libcurl's multi handle, and the inbox through which other threads reach it.
///
/// Sendable because the multi handle is touched by its own thread alone, but for `curl_multi_wakeup`, which libcurl
/// allows from any thread and which is called with the inbox locked, so never after the handle is gone.
@safe
final class TransferLoop: @unchecked Sendable {
    private struct Inbox {
        var submissions: [Transfer] = []
        var cancellations: [Transfer] = []
        /// Transfers that are submitted and not yet answered.
        var outstanding = 0
        var isStopping = false
        /// Whether the thread has ended and the multi handle is freed.
        var hasEnded = false
        var waitingForEnd: [CheckedContinuation<Void, Never>] = []
    }

    private let multi: UnsafeMutableRawPointer
    private let inbox = Mutex(Inbox())
    private let maximumInFlight: Int
    private let maximumOutstanding: Int

    // Touched by the loop's thread alone.
    private var inFlight: [UInt: Transfer] = [:]
    private var waiting: ArraySlice<Transfer> = []
    /// Until when no connection to a host is used that was there: one gave no answer to a transfer, and others are on it.
    private var silentHosts: [String: ContinuousClock.Instant] = [:]

    init(configuration: CurlFetcher.Configuration) throws(FetchError) {
        guard EasyHandle.libraryIsReady, let multi = unsafe curl_multi_init() else {
            throw FetchError(.other, detail: "curl_multi_init")
        }
        unsafe self.multi = multi
        maximumInFlight = max(1, configuration.maximumInFlight)
        maximumOutstanding = maximumInFlight + max(0, configuration.maximumWaiting)
        unsafe ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, max(1, configuration.maximumIdleConnections))
        guard DedicatedThread.start(configuration.threadName, { self.run() }) else {
            unsafe curl_multi_cleanup(multi)
            throw FetchError(.other, detail: "pthread_create")
        }
    }

    // MARK: From any thread

    func submit(_ transfer: Transfer, answering continuation: CheckedContinuation<Transfer.Outcome, Never>) {
        transfer.answer(to: continuation)
        let refusal = inbox.withLock { inbox -> FetchError.Code? in
            if inbox.isStopping { return .stopped }
            if inbox.outstanding >= maximumOutstanding { return .busy }
            inbox.outstanding += 1
            inbox.submissions.append(transfer)
            unsafe curl_multi_wakeup(multi)
            return nil
        }
        if let refusal { transfer.fail(refusal) }
    }

    func cancel(_ transfer: Transfer) {
        inbox.withLock { inbox in
            guard !inbox.isStopping else { return }
            inbox.cancellations.append(transfer)
            unsafe curl_multi_wakeup(multi)
        }
    }

    func stop() {
        inbox.withLock { inbox in
            inbox.isStopping = true
            if !inbox.hasEnded { unsafe curl_multi_wakeup(multi) }
        }
    }

    func stopped() async {
        stop()
        await withCheckedContinuation { continuation in
            let hasEnded = inbox.withLock { inbox in
                if !inbox.hasEnded { inbox.waitingForEnd.append(continuation) }
                return inbox.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    // MARK: On the loop's thread

    private func run() {
        while takeInbox() {
            expire()
            startWaiting()
            var count: Int32 = 0
            unsafe curl_multi_perform(multi, &count)
            collectFinished()
            if !waiting.isEmpty && inFlight.count < maximumInFlight { continue }
            unsafe curl_multi_poll(multi, nil, 0, millisecondsToNextDeadline(), nil)
        }
        end()
    }

    /// Returns false once the loop is to stop.
    private func takeInbox() -> Bool {
        let (submissions, cancellations, isStopping) = inbox.withLock { inbox in
            defer {
                inbox.submissions = []
                inbox.cancellations = []
            }
            return (inbox.submissions, inbox.cancellations, inbox.isStopping)
        }
        waiting.append(contentsOf: submissions)
        for transfer in cancellations {
            if inFlight[transfer.id] === transfer {
                abandon(transfer)
                releaseCapacity(1)
                transfer.fail(.cancelled)
            } else if let index = waiting.firstIndex(where: { $0 === transfer }) {
                waiting.remove(at: index)
                releaseCapacity(1)
                transfer.fail(.cancelled)
            }  // else it was answered before the cancellation arrived
        }
        return !isStopping
    }

    private func expire() {
        let now = ContinuousClock.now
        let expired = inFlight.values.filter { $0.deadline <= now }
        for transfer in expired { abandon(transfer) }
        let expiredWaiting = waiting.filter { $0.deadline <= now }
        if !expiredWaiting.isEmpty { waiting.removeAll { $0.deadline <= now } }
        releaseCapacity(expired.count + expiredWaiting.count)
        for transfer in expired { transfer.expire() }
        for transfer in expiredWaiting { transfer.fail(.busy) }
    }

    private func startWaiting() {
        while inFlight.count < maximumInFlight, let transfer = waiting.popFirst() {
            if !silentHosts.isEmpty, let end = silentHosts[transfer.host] {
                if end > .now { transfer.connectByItself() } else { silentHosts[transfer.host] = nil }
            }
            let status = unsafe curl_multi_add_handle(multi, transfer.handle)
            guard status == CURLM_OK else {
                releaseCapacity(1)
                transfer.fail(.other, detail: unsafe String(cString: curl_multi_strerror(status)))
                continue
            }
            inFlight[transfer.id] = transfer
        }
    }

    private func collectFinished() {
        var finished: [(Transfer, CURLcode)] = []
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE,
                let transfer = unsafe inFlight[UInt(bitPattern: message.pointee.easy_handle)]
            else { continue }
            // The message is freed when the handle is removed from the multi handle.
            finished.append((transfer, unsafe message.pointee.data.result))
            remove(transfer)
        }
        releaseCapacity(finished.count)
        for (transfer, status) in finished { transfer.finish(status) }
    }

    /// Gives capacity back, before the answers go out: a caller that has its answer may submit again at once.
    private func releaseCapacity(_ count: Int) {
        if count > 0 { inbox.withLock { $0.outstanding -= count } }
    }

    /// Removes a transfer that has no answer, and whose connection may never give one again.
    private func abandon(_ transfer: Transfer) {
        let (now, host) = (ContinuousClock.now, transfer.host)
        transfer.abandonConnection()
        remove(transfer)
        silentHosts = silentHosts.filter { $0.value > now }
        // By then the last one has left it, and it is closed.
        silentHosts[host] = inFlight.values.filter { $0.host == host }.map(\.deadline).max()
    }

    private func remove(_ transfer: Transfer) {
        unsafe curl_multi_remove_handle(multi, transfer.handle)
        inFlight[transfer.id] = nil
    }

    /// The timeout of `curl_multi_poll`; libcurl shortens it to the next of its own timers.
    private func millisecondsToNextDeadline() -> Int32 {
        let running = inFlight.values.lazy.map(\.deadline).min()
        let queued = waiting.lazy.map(\.deadline).min()
        guard let next = [running, queued].compactMap(\.self).min() else { return 60_000 }
        let left = ContinuousClock.now.duration(to: next)
        guard left < .seconds(60) else { return 60_000 }
        // Rounded up: a wait that ends just short of the deadline would spin until it is there.
        return Int32(max(0, left / .milliseconds(1)).rounded(.up))
    }

    private func end() {
        let submissions = inbox.withLock { inbox in
            defer { inbox.submissions = [] }
            return inbox.submissions
        }
        let outstanding = Array(inFlight.values) + waiting + submissions
        for transfer in inFlight.values { remove(transfer) }
        waiting = []
        for transfer in outstanding { transfer.fail(.stopped) }
        let waitingForEnd = inbox.withLock { inbox in
            inbox.hasEnded = true
            unsafe curl_multi_cleanup(multi)
            defer { inbox.waitingForEnd = [] }
            return inbox.waitingForEnd
        }
        for continuation in waitingForEnd { continuation.resume() }
    }
}
