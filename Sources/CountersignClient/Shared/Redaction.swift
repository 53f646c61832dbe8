/// A value or actor with secrets: what prints it, dumps it or reflects on it sees its `description`, and nothing that it
/// stores.
public protocol Redacted: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension Redacted {
    /// The same as `description`.
    public var debugDescription: String { description }

    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

/// What may be shown of a secret: its first six characters when it has far more than those, else nothing.
func redacted(_ secret: String?) -> String {
    guard let secret else { return "nil" }
    return secret.count > 24 ? "\(secret.prefix(6))…[redacted]" : "[redacted]"
}
