@preconcurrency import Glibc

extension StandardOutput {
    /// Writes what `print` has left in its buffer.
    ///
    /// - Throws: `Fault` when some of what was printed could not be written.
    static func flushPrinted() throws {
        guard unsafe fflush(stdout) == 0 else {
            throw Fault(description: "Standard output can't be written: \(unsafe String(cString: strerror(errno))).")
        }
        // What didn't fit into the buffer was written before.
        guard unsafe ferror(stdout) == 0 else { throw Fault(description: "Standard output can't be written.") }
    }
}
