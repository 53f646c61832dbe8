import Foundation
import Glibc

/// A TCP socket that listens on the loopback interface.
package struct ListeningSocket: Sendable {
    package let descriptor: Int32
    package let port: UInt16

    /// - Parameters:
    ///   - host: the last byte of the address, 127.0.0.1 by default.
    ///   - port: one of the kernel's choice by default.
    package init(host: UInt8 = 1, port: UInt16 = 0) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = (UInt32(0x7F00_0000) | UInt32(host)).bigEndian
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, length) == 0 && listen(listener, 2_048) == 0
                    && getsockname(listener, address, &length) == 0
            }
        }
        guard isListening else {
            let error = POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
            close(listener)
            throw error
        }
        descriptor = listener
        self.port = UInt16(bigEndian: address.sin_port)
    }
}
