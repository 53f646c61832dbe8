import Dispatch
import Foundation

/// Standard input in chunks: what is available is returned at once. Reads block a thread of their own, since there are
/// few that Swift's tasks share.
struct StandardInput: Sendable {
    private static let chunkBytes = 262_144
    private let queue = DispatchQueue(label: "standard-input")

    /// The next chunk, at most 256 KiB; nil at the end of the input.
    ///
    /// - Throws: `UsageFault` if standard input can't be read.
    func nextChunk() async throws -> [UInt8]? {
        let chunk = try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try Self.read() }) }
        }
        return chunk.isEmpty ? nil : chunk
    }

    private static func read() throws -> [UInt8] {
        let input = FileHandle.standardInput.fileDescriptor
        var isRead = false
        let chunk = [UInt8](unsafeUninitializedCapacity: chunkBytes) { buffer, count in
            var size = -1
            repeat {
                size = Foundation.read(input, buffer.baseAddress, buffer.count)
            } while size < 0 && StandardStream.isToBeTriedAgain(input, POLLIN)
            (isRead, count) = (size >= 0, max(0, size))
        }
        guard isRead else { throw UsageFault(sentence: "standard input can't be read") }
        return chunk
    }
}
