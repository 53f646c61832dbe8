import Foundation

/// The calls of Apple's Security framework that a store makes, with their attributes as plain values.
protocol Keychain: Sendable {
    /// The data of the one item that matches. Nil beside `success` means that the item holds something else.
    func copyMatching(_ query: KeychainAttributes) -> (status: KeychainStatus, data: Data?)
    func add(_ item: KeychainAttributes) -> KeychainStatus
    func update(_ query: KeychainAttributes, to changes: KeychainAttributes) -> KeychainStatus
    func delete(_ query: KeychainAttributes) -> KeychainStatus
}

typealias KeychainAttributes = [KeychainAttribute: KeychainValue]

/// The keys of a query that we use; each stands for the `kSec…` constant named beside it.
enum KeychainAttribute: Sendable, Hashable, CaseIterable {
    case itemClass  // kSecClass
    case account  // kSecAttrAccount
    case service  // kSecAttrService
    case accessGroup  // kSecAttrAccessGroup
    case accessible  // kSecAttrAccessible
    case usesDataProtectionKeychain  // kSecUseDataProtectionKeychain
    case data  // kSecValueData
    case returnsData  // kSecReturnData
    case matchLimit  // kSecMatchLimit
}

enum KeychainValue: Sendable, Hashable {
    case genericPassword  // kSecClassGenericPassword
    case afterFirstUnlockThisDeviceOnly  // kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
    case one  // kSecMatchLimitOne
    case text(String)
    case flag(Bool)
    case data(Data)
}

/// An `OSStatus`.
struct KeychainStatus: RawRepresentable, Sendable, Equatable {
    let rawValue: Int32

    static let success = Self(rawValue: 0)
    static let duplicateItem = Self(rawValue: -25299)
    static let itemNotFound = Self(rawValue: -25300)
    /// Before the first unlock after a start.
    static let interactionNotAllowed = Self(rawValue: -25308)
    static let missingEntitlement = Self(rawValue: -34018)

    /// The number, and what it means where it is one that apps meet.
    var explanation: String {
        switch self {
        case .interactionNotAllowed: "\(rawValue), the device has not been unlocked since it started"
        case .missingEntitlement: "\(rawValue), the app lacks an entitlement for this keychain or access group"
        default: "\(rawValue)"
        }
    }
}
