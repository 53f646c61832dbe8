import Foundation
import Glibc
import Synchronization

/// The thread behind a `LoopbackServer`: one `poll` over all its sockets.
///
/// Sendable because sockets are touched by this thread alone and everything else is behind the mutex.
final class LoopbackLoop: @unchecked Sendable {
    let listener: ListeningSocket
    let state = Mutex(LoopbackServer.State())
    /// A pipe that makes `poll` return when another thread writes a byte into it.
    private let wakePipe: (reading: Int32, writing: Int32)
    private let answer: @Sendable (LoopbackServer.Request) -> [LoopbackServer.Step]
    private var connections: [Int32: LoopbackConnection] = [:]

    init(answer: @escaping @Sendable (LoopbackServer.Request) -> [LoopbackServer.Step]) throws {
        self.answer = answer
        var ends: [Int32] = [-1, -1]
        let hasWakePipe = pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFL, O_NONBLOCK) == 0 }
        listener = try ListeningSocket()
        guard hasWakePipe, fcntl(listener.descriptor, F_SETFL, O_NONBLOCK) == 0 else {
            throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
        }
        wakePipe = (ends[0], ends[1])
    }

    func change(_ body: (inout LoopbackServer.State) -> Void) {
        state.withLock { state in
            body(&state)
            // Inside the lock: no thread writes into the pipe after the loop has seen `isStopping` and closed it.
            var byte: UInt8 = 1
            Glibc.write(wakePipe.writing, &byte, 1)
        }
    }

    func run() {
        while true {
            let (isStopping, isReleased) = state.withLock { ($0.isStopping, $0.isReleased) }
            if isStopping { break }
            answerWaiters()
            for (socket, connection) in connections where !connection.write(isReleased: isReleased) { end(socket) }
            wait()
        }
        for socket in connections.keys { end(socket) }
        close(listener.descriptor)
        close(wakePipe.reading)
        close(wakePipe.writing)
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters.map { ($0.continuation, state.history) }
        }
        for (continuation, history) in waiters { continuation.resume(returning: history) }
    }

    private func answerWaiters() {
        let met = state.withLock { state in
            let met = state.waiters.filter { $0.isMet(state.history) }
            state.waiters.removeAll { $0.isMet(state.history) }
            return met.map { ($0.continuation, state.history) }
        }
        for (continuation, history) in met { continuation.resume(returning: history) }
    }

    private func wait() {
        var polled = [
            pollfd(fd: wakePipe.reading, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        for (socket, connection) in connections {
            let events = connection.hasOutput ? POLLIN | POLLOUT : POLLIN
            polled.append(pollfd(fd: socket, events: Int16(events), revents: 0))
        }
        let pause = connections.values.compactMap(\.pause).min()
        let milliseconds = pause.map { max(0, ContinuousClock.now.duration(to: $0) / .milliseconds(1)).rounded(.up) }
        poll(&polled, nfds_t(polled.count), Int32(milliseconds ?? -1))

        if polled[0].revents != 0 {
            var bytes = [UInt8](repeating: 0, count: 512)
            Glibc.read(wakePipe.reading, &bytes, bytes.count)
        }
        if polled[1].revents != 0 { accept() }
        for entry in polled[2...] where entry.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
            guard let connection = connections[entry.fd] else { continue }
            let requests = connection.read()
            for request in requests {
                state.withLock { $0.history.requests.append(request) }
                connection.script += answer(request)
            }
            if connection.peerIsGone { end(entry.fd) }
        }
        answerWaiters()
    }

    private func accept() {
        while true {
            let socket = Glibc.accept(listener.descriptor, nil, nil)
            guard socket >= 0, fcntl(socket, F_SETFL, O_NONBLOCK) == 0 else { return }
            let number = state.withLock { state in
                defer { state.history.opened += 1 }
                return state.history.opened
            }
            connections[socket] = LoopbackConnection(socket: socket, number: number)
        }
    }

    private func end(_ socket: Int32) {
        connections[socket] = nil
        close(socket)
        state.withLock { $0.history.closed += 1 }
    }
}

/// One accepted socket, its script and the progress in it.
final class LoopbackConnection {
    let socket: Int32
    let number: Int
    var script: [LoopbackServer.Step] = []
    private(set) var peerIsGone = false
    /// When the next byte of a `drip` is due.
    private(set) var pause: ContinuousClock.Instant?
    private var input: [UInt8] = []
    private var output: ArraySlice<UInt8> = []

    init(socket: Int32, number: Int) {
        self.socket = socket
        self.number = number
    }

    var hasOutput: Bool { !output.isEmpty }

    /// Takes what has arrived; returns the requests that it completes.
    func read() -> [LoopbackServer.Request] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 {
                input += buffer[..<count]
            } else {
                if count == 0 || errno != EAGAIN { peerIsGone = true }
                break
            }
        }
        var requests: [LoopbackServer.Request] = []
        while let request = nextRequest() { requests.append(request) }
        return requests
    }

    private func nextRequest() -> LoopbackServer.Request? {
        guard let end = input.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: input[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
        let headers = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: String(parts[0]), value: parts.last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "")
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        guard input.count >= end.upperBound + length else { return nil }
        let words = lines[0].split(separator: " ").map(String.init)
        defer { input.removeFirst(end.upperBound + length) }
        return LoopbackServer.Request(
            connection: number, method: words[0], target: words.count > 1 ? words[1] : "", headers: headers,
            body: Array(input[end.upperBound..<(end.upperBound + length)]))
    }

    /// Continues the script as far as it can. False when the connection is to be closed.
    func write(isReleased: Bool) -> Bool {
        pause = nil
        while true {
            while !output.isEmpty {
                let count = output.withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return errno == EAGAIN }
                output.removeFirst(count)
            }
            guard let step = script.first else { return true }
            switch step {
            case .send(let bytes):
                output = bytes[...]
                script.removeFirst()
            case .repeated(let bytes, let times):
                output = bytes[...]
                script[0] = .repeated(bytes, times: times - 1)
                if times <= 1 { script.removeFirst() }
            case .drip(let bytes, let interval):
                if let due = dripDue, due > .now {
                    pause = due
                    return true
                }
                dripDue = bytes.count > 1 ? .now.advanced(by: interval) : nil
                output = bytes.prefix(1)
                script[0] = .drip(Array(bytes.dropFirst()), every: interval)
                if bytes.count <= 1 { script.removeFirst() }
            case .hold:
                guard isReleased else { return true }
                script.removeFirst()
            case .close: return false
            case .reset:
                var linger = linger(l_onoff: 1, l_linger: 0)
                setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
                return false
            }
        }
    }

    private var dripDue: ContinuousClock.Instant?
}
