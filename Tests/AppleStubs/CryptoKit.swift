import Foundation

public struct SHA256: Sendable {
    public struct Digest: Sequence, Sendable {
        public func makeIterator() -> IndexingIterator<[UInt8]> { fatalError() }
    }

    public static func hash(data: some DataProtocol) -> Digest { fatalError() }
}

public struct SymmetricKey: Sendable {
    public init(data: some ContiguousBytes) { fatalError() }
}

public enum ChaChaPoly: Sendable {
    public struct Nonce: Sendable {
        public init() { fatalError() }
        public init(data: some DataProtocol) throws { fatalError() }
    }

    public struct SealedBox: Sendable {
        public init(combined: some DataProtocol) throws { fatalError() }
        public var combined: Data { fatalError() }
    }

    public static func seal(
        _ message: some DataProtocol, using key: SymmetricKey, nonce: Nonce? = nil,
        authenticating authenticatedData: some DataProtocol
    ) throws -> SealedBox { fatalError() }

    public static func open(
        _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: some DataProtocol
    ) throws -> Data { fatalError() }
}
