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
        var failure: Int32 = 0
        let chunk = [UInt8](unsafeUninitializedCapacity: chunkBytes) { buffer, count in
            repeat {
                let size = Foundation.read(FileHandle.standardInput.fileDescriptor, buffer.baseAddress, buffer.count)
                failure = size < 0 ? errno : 0
                count = max(0, size)
            } while failure == EINTR
        }
        guard failure == 0 else { throw UsageFault(sentence: "standard input can't be read") }
        return chunk
    }
}
