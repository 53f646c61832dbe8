import Foundation

/// Tests of many cases that are alike: each run of the tests has a sample of them, `Scripts/soak cases` all.
package enum SoakCases {
    package static let areAll = ProcessInfo.processInfo.environment["COUNTERSIGN_ALL_CASES"] != nil
}
