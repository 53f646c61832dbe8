#if canImport(Security)
    import Foundation
    import Security

    /// The system's keychains. This file translates; the rules are in `GenericPassword`.
    struct SecurityKeychain: Keychain {
        func copyMatching(_ query: KeychainAttributes) -> (status: KeychainStatus, data: Data?) {
            var found: CFTypeRef?
            let status = SecItemCopyMatching(dictionary(query), &found)
            return (KeychainStatus(rawValue: status), found as? Data)
        }

        func add(_ item: KeychainAttributes) -> KeychainStatus {
            KeychainStatus(rawValue: SecItemAdd(dictionary(item), nil))
        }

        func update(_ query: KeychainAttributes, to changes: KeychainAttributes) -> KeychainStatus {
            KeychainStatus(rawValue: SecItemUpdate(dictionary(query), dictionary(changes)))
        }

        func delete(_ query: KeychainAttributes) -> KeychainStatus {
            KeychainStatus(rawValue: SecItemDelete(dictionary(query)))
        }

        private func dictionary(_ attributes: KeychainAttributes) -> CFDictionary {
            var dictionary: [String: Any] = [:]
            for (attribute, value) in attributes {
                dictionary[name(of: attribute) as String] = object(of: value)
            }
            return NSDictionary(dictionary: dictionary) as CFDictionary
        }

        private func name(of attribute: KeychainAttribute) -> CFString {
            switch attribute {
            case .itemClass: kSecClass
            case .account: kSecAttrAccount
            case .service: kSecAttrService
            case .accessGroup: kSecAttrAccessGroup
            case .accessible: kSecAttrAccessible
            case .usesDataProtectionKeychain: kSecUseDataProtectionKeychain
            case .data: kSecValueData
            case .returnsData: kSecReturnData
            case .matchLimit: kSecMatchLimit
            }
        }

        private func object(of value: KeychainValue) -> Any {
            switch value {
            case .genericPassword: kSecClassGenericPassword
            case .afterFirstUnlockThisDeviceOnly: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            case .one: kSecMatchLimitOne
            case .text(let text): text
            case .flag(let flag): flag
            case .data(let data): data
            }
        }
    }
#endif
