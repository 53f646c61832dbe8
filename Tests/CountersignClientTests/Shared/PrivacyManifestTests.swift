import Foundation
import Testing

/// The privacy manifest, without which App Store Connect takes no app that has the library in it (ITMS-91053).
struct PrivacyManifestTests {
    private static let library = URL(fileURLWithPath: "\(#filePath)/../../../../Sources/CountersignClient")
        .standardizedFileURL.resolvingSymlinksInPath()

    private static func manifest() throws -> [String: Any] {
        let data = try Data(contentsOf: library.appendingPathComponent("PrivacyInfo.xcprivacy"))
        return try #require(try PropertyListSerialization.propertyList(from: data, format: nil) as? [String: Any])
    }

    /// The words of the library's code.
    private static func words() throws -> Set<String> {
        let files = try #require(FileManager.default.enumerator(at: library, includingPropertiesForKeys: nil))
        var words: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            for line in try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
            where !line.trimmingCharacters(in: .whitespaces).hasPrefix("//") {
                words.formUnion(line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
            }
        }
        return words
    }

    @Test func `each API that Apple wants a reason for has one`() throws {
        let used = try #require(try Self.manifest()["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
        var reasons: [String: [String]] = [:]
        for each in used {
            let category = try #require(each["NSPrivacyAccessedAPIType"] as? String)
            reasons[category] = try #require(each["NSPrivacyAccessedAPITypeReasons"] as? [String])
        }
        // The metadata of files inside the app's container.
        #expect(reasons == ["NSPrivacyAccessedAPICategoryFileTimestamp": ["C617.1"]])
        let words = try Self.words()
        #expect(words.contains("FileSessionStore"))
        // What Apple wants a reason for, by the category of the reason.
        let known: [String: Set<String>] = [
            "FileTimestamp": [
                "creationDate", "modificationDate", "fileModificationDate", "contentModificationDateKey",
                "creationDateKey", "contentModificationDate", "getattrlist", "getattrlistbulk", "fgetattrlist",
                "getattrlistat", "stat", "fstat", "fstatat", "lstat",
            ],
            "SystemBootTime": ["systemUptime", "mach_absolute_time"],
            "DiskSpace": [
                "volumeAvailableCapacity", "volumeAvailableCapacityForImportantUsage",
                "volumeAvailableCapacityForOpportunisticUsage", "volumeTotalCapacity", "volumeAvailableCapacityKey",
                "volumeAvailableCapacityForImportantUsageKey", "volumeAvailableCapacityForOpportunisticUsageKey",
                "volumeTotalCapacityKey", "systemFreeSize", "systemSize", "statfs", "statvfs", "fstatfs", "fstatvfs",
            ],
            "ActiveKeyboards": ["activeInputModes"],
            "UserDefaults": ["UserDefaults", "AppStorage", "CFPreferencesCopyAppValue"],
        ]
        let categories = known.filter { !$0.value.isDisjoint(with: words) }
        #expect(Set(categories.keys.map { "NSPrivacyAccessedAPICategory\($0)" }) == Set(reasons.keys))
    }

    @Test func `nothing is for tracking, and what the service is sent is declared`() throws {
        let manifest = try Self.manifest()
        #expect(manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyTrackingDomains"] as? [String])?.isEmpty == true)
        let collected = try #require(manifest["NSPrivacyCollectedDataTypes"] as? [[String: Any]])
        #expect(
            collected.compactMap { $0["NSPrivacyCollectedDataType"] as? String }
                == ["Name", "EmailAddress", "UserID", "OtherDataTypes"].map { "NSPrivacyCollectedDataType\($0)" })
        for each in collected {
            #expect(each["NSPrivacyCollectedDataTypeLinked"] as? Bool == true)
            #expect(each["NSPrivacyCollectedDataTypeTracking"] as? Bool == false)
            #expect(
                each["NSPrivacyCollectedDataTypePurposes"] as? [String]
                    == ["NSPrivacyCollectedDataTypePurposeAppFunctionality"])
        }
    }

    /// The manifest has two forms, and only Apple's systems see theirs.
    @Test func `the package copies it into the library's bundle`() throws {
        let package = Self.library.appendingPathComponent("../../Package.swift").standardizedFileURL
        let text = try String(contentsOf: package, encoding: .utf8)
        #expect(text.contains(#"let privacyManifest = "PrivacyInfo.xcprivacy""#))
        #expect(text.contains("[.copy(privacyManifest)]") && text.contains("resources: clientResources"))
    }
}
