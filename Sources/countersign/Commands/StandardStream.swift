import Foundation

/// What the streams of a command share.
enum StandardStream {
    /// Whether a call that has just failed is to be made again: a signal came between, or another program that has the stream
    /// too has made it non-blocking. Returns when the stream is ready for it, however long that takes.
    ///
    /// - Parameter event: `POLLIN` or `POLLOUT`.
    static func isToBeTriedAgain(_ descriptor: Int32, _ event: Int32) -> Bool {
        if errno == EINTR { return true }
        guard errno == EAGAIN else { return false }
        var stream = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        while poll(&stream, 1, -1) < 0, errno == EINTR {}
        return true
    }
}
