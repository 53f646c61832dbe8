#if canImport(Security)
    public import Foundation

    /// Keeps a session in the keychain: one item, readable after the first unlock and on this device only, which no backup
    /// carries to another one. The item outlives the app: after a reinstallation it is there still, unless the app removes
    /// it at its first launch.
    ///
    /// The item is found by where GTMAppAuth puts its own (class generic password, account `OAuth`, the name as service), so
    /// that ``GTMAppAuthSource`` and ``GTMOAuth2Source`` read theirs through this store too. Give each client and each
    /// session a name of its own.
    public struct KeychainStore: SessionStore {
        private let item: GenericPassword

        /// An item of the data-protection keychain, on macOS too.
        ///
        /// - Parameters:
        ///   - itemName: not empty, else every call throws `SessionError.storage("noService")`.
        ///   - accessGroup: shares the item with extensions and other apps of the team; an entitlement has to name it.
        ///     Without one the item is found in any group of the app's, and a new one goes to the first of them. An item
        ///     does not move to another group, so decide before the first release.
        public init(itemName: String, account: String = "OAuth", accessGroup: String? = nil) {
            item = GenericPassword(
                keychain: SecurityKeychain(), itemName: itemName, account: account,
                location: .dataProtection(accessGroup: accessGroup))
        }

        public func load() throws(SessionError) -> Data? { try item.load() }

        /// Changes the item in place, or adds it. Empty data removes it.
        public func save(_ data: Data) throws(SessionError) { try item.save(data) }

        public func remove() throws(SessionError) { try item.remove() }
    }

    // macOS alone has a second keychain: elsewhere these would move an item onto itself and delete it.
    #if !os(iOS) && !os(tvOS) && !os(watchOS) && !os(visionOS)
        extension KeychainStore {
            /// An item of the file-based keychain, for apps without the entitlements that the data-protection keychain needs,
            /// and for what GTMAppAuth before 5.0 has left there.
            public static func fileBased(itemName: String, account: String = "OAuth") -> Self {
                Self(
                    item: GenericPassword(
                        keychain: SecurityKeychain(), itemName: itemName, account: account, location: .fileBased))
            }

            private init(item: GenericPassword) { self.item = item }

            /// Moves the item of the same name and account out of the file-based keychain: it is saved here and read back before
            /// it is deleted there. What is here already stays.
            ///
            /// For a session of another library use ``SessionMigrator`` with a source on ``fileBased(itemName:account:)``.
            /// - Returns: whether an item was moved.
            @discardableResult
            public func moveFromFileBasedKeychain() throws(SessionError) -> Bool {
                let source = GenericPassword(
                    keychain: SecurityKeychain(), itemName: item.itemName, account: item.account, location: .fileBased)
                return try item.move(from: source)
            }
        }
    #endif
#endif
