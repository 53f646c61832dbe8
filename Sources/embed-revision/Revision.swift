import Foundation

/// The search for the commit, in git's own files (gitrepository-layout(5)).
enum Revision {
    /// The commit that the first line of a file is; nil for any other text, such as the placeholder of `git archive`.
    static func written(in file: URL) -> String? { commit(text(of: file)) }

    /// The commit that HEAD names. Nil where there is no repository, or HEAD names a branch without a commit.
    static func checkedOut(in repository: URL) -> String? {
        guard let folder = folder(of: repository), let head = text(of: folder.appending(path: "HEAD")) else {
            return nil
        }
        guard head.hasPrefix("ref: ") else { return commit(head) }
        let branch = String(head.dropFirst(5))
        // Branches of a worktree are those of its main repository.
        let common =
            text(of: folder.appending(path: "commondir"))
            .map { URL(filePath: $0, relativeTo: folder.appending(path: "")) } ?? folder
        return commit(text(of: common.appending(path: branch)))
            ?? packed(branch, in: common.appending(path: "packed-refs"))
    }

    /// `.git` itself, or the folder that the file `.git` of a worktree names.
    private static func folder(of repository: URL) -> URL? {
        var isDirectory = ObjCBool(false)
        guard FileManager.default.fileExists(atPath: repository.path, isDirectory: &isDirectory) else { return nil }
        guard !isDirectory.boolValue else { return repository }
        guard let line = text(of: repository), line.hasPrefix("gitdir: ") else { return nil }
        return URL(filePath: String(line.dropFirst(8)), relativeTo: repository.deletingLastPathComponent())
    }

    /// Lines of `COMMIT NAME`.
    private static func packed(_ branch: String, in file: URL) -> String? {
        let lines = (try? String(contentsOf: file, encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.first { $0.hasSuffix(" \(branch)") }.flatMap { commit(String($0.prefix { $0 != " " })) }
    }

    /// The first line of a file.
    private static func text(of file: URL) -> String? {
        (try? String(contentsOf: file, encoding: .utf8)).map { String($0.prefix { !$0.isNewline }) }
    }

    private static func commit(_ text: String?) -> String? {
        text?.wholeMatch(of: /[0-9a-f]{40}([0-9a-f]{24})?/) == nil ? nil : text
    }
}
