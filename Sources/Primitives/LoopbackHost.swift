extension StringProtocol {
    /// Whether this host is `localhost`, in 127.0.0.0/8 (RFC 1122 §3.2.1.3), or `::1`. A name that merely resolves to one of
    /// them is not.
    package var isLoopbackHost: Bool {
        if utf8.equalsIgnoringASCIICase("localhost".utf8) || utf8.elementsEqual("::1".utf8) { return true }
        let parts = utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0].elementsEqual("127".utf8)
            && parts.allSatisfy { part in
                (1...3).contains(part.count) && part.allSatisfy(\.isASCIIDigit)
                    && part.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } <= 255
            }
    }
}
