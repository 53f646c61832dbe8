/// A network of callers: the IPv4 /24 or IPv6 /64 of an address, in CIDR notation (RFC 4632 §3.1), or a wide one, /16 or /48.
package struct Network: ExactString, ExpressibleByStringInterpolation {
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.init(text) }
}
