import Accounts
import Foundation
import HTTPAPI

/// The OAuth server, and App Flip.
struct OAuthConfiguration: Sendable {
    let scopes: OAuthScopes
    /// The sentences of the consent, by language.
    let scopeTexts: [OAuthScope: [String: String]]
    /// Seconds.
    let accessLifetime: Int64
    /// Seconds.
    let codeLifetime: Int64
    /// Seconds; nil for no limit.
    let flipMaxAuthAge: Int64?
    /// The files for App Flip; nil where no app is listed.
    let associations: AssociationFiles?
    let flipPath: String

    /// Nil where it is off.
    init?(from reader: inout ConfigurationReader) {
        let isEnabled = reader.value(Settings.OAuth.isEnabled)
        scopes = OAuthScopes(from: &reader)
        accessLifetime = Int64(reader.value(Settings.OAuth.accessLifetime))
        codeLifetime = Int64(reader.value(Settings.OAuth.codeLifetime))
        flipMaxAuthAge = reader.optional(Settings.AppFlip.maxAuthAge).map { Int64($0) }
        flipPath = reader.value(Settings.AppFlip.path)
        let appleAppIDs = reader.value(Settings.AppFlip.appleAppIDs)
        let androidApps = reader.value(Settings.AppFlip.androidApps).compactMap(Self.androidApp)
        associations =
            appleAppIDs.isEmpty && androidApps.isEmpty
            ? nil : AssociationFiles(appleAppIDs: appleAppIDs, androidApps: androidApps, path: flipPath)
        scopeTexts = reader.scopeTexts()
        guard isEnabled else { return nil }
        for scope in scopes.all where scope != .profile && scope != .email {
            guard scopeTexts[scope]?["en"] == nil else { continue }
            reader.refuse(Settings.OAuth.scopeTextsPath.name, "has no English sentence (en) for the scope \(scope)")
        }
    }

    static func isAppleAppID(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Z0-9]{10}\.[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*/) != nil
    }

    /// `com.acme.app=14:6D:…:E9`.
    static func androidApp(_ text: String) -> AssociationFiles.AndroidApp? {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2, parts[0].wholeMatch(of: /[A-Za-z]\w*(?:\.[A-Za-z]\w*)+/) != nil,
            parts[1].wholeMatch(of: /[0-9A-F]{2}(?::[0-9A-F]{2}){31}/) != nil
        else { return nil }
        return AssociationFiles.AndroidApp(package: parts[0], fingerprint: parts[1])
    }
}

extension OAuthScopes {
    /// Those that are configured.
    init(from reader: inout ConfigurationReader) {
        self.init(reader.value(Settings.OAuth.scopes).compactMap(OAuthScope.init))
    }
}

extension ConfigurationReader {
    /// The longest sentence, in bytes.
    private static let longestSentence = 300

    /// The sentences in the file of `oauth.scopeTextsPath`.
    fileprivate mutating func scopeTexts() -> [OAuthScope: [String: String]] {
        let setting = Settings.OAuth.scopeTextsPath
        guard let path = optional(setting), let bytes = file(setting, path, maximumBytes: 262_144) else { return [:] }
        var sentences: [OAuthScope: [String: String]] = [:]
        do throws(ConfigurationFaults) {
            let file = try ConfigurationFile(Data(bytes), path: path, origin: .builtIn)
            for key in file.keys {
                // A scope may have dots, a language has none.
                guard let dot = key.lastIndex(of: "."), let scope = OAuthScope(String(key[..<dot])),
                    let sentence = file.value(of: key)?.text, (1...Self.longestSentence).contains(sentence.utf8.count),
                    !sentence.unicodeScalars.contains(where: { $0.value < 0x20 })
                else {
                    refuse(setting.name, "names a file in which \(key) is no language and sentence of a scope")
                    continue
                }
                sentences[scope, default: [:]][String(key[key.index(after: dot)...])] = sentence
            }
        } catch {
            refuse(setting.name, "names a file that \(error.faults.first?.sentence ?? "can't be read")")
        }
        return sentences
    }
}
