import Foundation

@testable import CountersignClient

/// Apple's two keychains as their documentation describes them, in memory: macOS's file-based one and the
/// data-protection one with its access groups. It is stricter than Apple's, which overlooks attributes that do not
/// belong to a call: here they are refused as parameters.
final class ModelledKeychain: Keychain {
    enum Call: Equatable, CaseIterable { case read, update, add, delete }

    private struct Key: Hashable {
        let isDataProtected: Bool
        let group: String?
        let account: String
        let service: String
    }

    private struct Item {
        var data: Data?
        var accessible: KeychainValue?
    }

    private struct State {
        var items: [Key: Item] = [:]
        var calls: [(call: Call, query: KeychainAttributes, changes: KeychainAttributes)] = []
        var failures: [Call: KeychainStatus] = [:]
        var beforeAdd: (@Sendable (ModelledKeychain) -> Void)?
        var damage: (@Sendable (Data) -> Data)?
    }

    static let ownGroup = "TEAM000001.com.example.lamp"
    static let sharedGroup = "TEAM000001.com.example.shared"
    private static let parameterError = KeychainStatus(rawValue: -50)

    private let state = Locked(State())

    // MARK: What a test sets and sees

    /// Each such call fails with this status from now on; nil ends that.
    func fail(_ call: Call, with status: KeychainStatus?) { state.withLock { $0.failures[call] = status } }

    /// Runs once, before the next item is added: what another process does meanwhile.
    func beforeNextAdd(_ act: @escaping @Sendable (ModelledKeychain) -> Void) { state.withLock { $0.beforeAdd = act } }

    /// What is written from now on is kept as this makes it.
    func damage(_ change: @escaping @Sendable (Data) -> Data) { state.withLock { $0.damage = change } }

    /// Makes every item one that holds no data.
    func emptyItems() {
        state.withLock { state in
            for key in state.items.keys { state.items[key]?.data = nil }
        }
    }

    var calls: [Call] { state.withLock { $0.calls.map(\.call) } }
    var queries: [KeychainAttributes] { state.withLock { $0.calls.map(\.query) } }
    var count: Int { state.withLock { $0.items.count } }
    var accessibilities: [KeychainValue?] { state.withLock { $0.items.values.map(\.accessible) } }
    var groups: [String?] { state.withLock { $0.items.keys.map(\.group) } }

    // MARK: Keychain

    func copyMatching(_ query: KeychainAttributes) -> (status: KeychainStatus, data: Data?) {
        guard query[.returnsData] == .flag(true), query[.matchLimit] == .one else { return (Self.parameterError, nil) }
        var base = query
        base[.returnsData] = nil
        base[.matchLimit] = nil
        return state.withLock { state in
            let (status, keys) = Self.find(base, .read, query, [:], in: &state)
            guard status == .success, let key = keys.first else { return (status, nil) }
            return (status, state.items[key]?.data)
        }
    }

    func add(_ item: KeychainAttributes) -> KeychainStatus {
        let interference = state.withLock { state in
            defer { state.beforeAdd = nil }
            return state.beforeAdd
        }
        interference?(self)
        var base = item
        base[.data] = nil
        base[.accessible] = nil
        return state.withLock { state in
            let (status, keys) = Self.find(base, .add, item, [:], in: &state)
            guard status == .success || status == .itemNotFound else { return status }
            guard case .data(let data) = item[.data], !data.isEmpty,
                case .text(let account) = item[.account], case .text(let service) = item[.service]
            else { return Self.parameterError }
            let isDataProtected = item[.usesDataProtectionKeychain] == .flag(true)
            // Accessibility is an attribute of the data-protection keychain alone.
            guard isDataProtected == (item[.accessible] != nil) else { return Self.parameterError }
            var group: String?
            if isDataProtected { group = Self.ownGroup }
            if case .text(let name) = item[.accessGroup] { group = name }
            let key = Key(isDataProtected: isDataProtected, group: group, account: account, service: service)
            guard !keys.contains(key) else { return .duplicateItem }
            state.items[key] = Item(data: state.damage?(data) ?? data, accessible: item[.accessible])
            return .success
        }
    }

    func update(_ query: KeychainAttributes, to changes: KeychainAttributes) -> KeychainStatus {
        state.withLock { state in
            let (status, keys) = Self.find(query, .update, query, changes, in: &state)
            guard status == .success else { return status }
            guard case .data(let data) = changes[.data],
                changes.keys.allSatisfy({ [.data, .accessible].contains($0) }),
                keys.allSatisfy({ $0.isDataProtected == (changes[.accessible] != nil) })
            else { return Self.parameterError }
            for key in keys {
                state.items[key] = Item(data: state.damage?(data) ?? data, accessible: changes[.accessible])
            }
            return .success
        }
    }

    func delete(_ query: KeychainAttributes) -> KeychainStatus {
        state.withLock { state in
            let (status, keys) = Self.find(query, .delete, query, [:], in: &state)
            guard status == .success else { return status }
            for key in keys { state.items[key] = nil }
            return .success
        }
    }

    /// The items that the attributes which identify one select, after noting the call.
    private static func find(
        _ base: KeychainAttributes, _ call: Call, _ query: KeychainAttributes, _ changes: KeychainAttributes,
        in state: inout State
    ) -> (KeychainStatus, [Key]) {
        state.calls.append((call, query, changes))
        if let failure = state.failures[call] { return (failure, []) }
        let known: Set<KeychainAttribute> = [.itemClass, .account, .service, .usesDataProtectionKeychain, .accessGroup]
        guard known.isSuperset(of: base.keys), base[.itemClass] == .genericPassword,
            case .text(let account) = base[.account], case .text(let service) = base[.service], !service.isEmpty,
            case .flag(let isDataProtected) = base[.usesDataProtectionKeychain]
        else { return (parameterError, []) }
        var group: String?
        if let value = base[.accessGroup] {
            guard isDataProtected, case .text(let name) = value else { return (parameterError, []) }
            guard [ownGroup, sharedGroup].contains(name) else { return (.missingEntitlement, []) }
            group = name
        }
        // Without a group every group of the app is searched.
        let keys = state.items.keys.filter {
            $0.isDataProtected == isDataProtected && $0.account == account && $0.service == service
                && (group == nil || $0.group == group)
        }
        return (keys.isEmpty ? .itemNotFound : .success, Array(keys))
    }
}
