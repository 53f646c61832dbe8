import Foundation

/// An app without a screen: it walks through what an app does with CountersignClient, against a service and the sandbox
/// that plays Apple and Google, and checks each step. Scripts/example starts both and runs it.
@main
struct AppCLI {
    static func main() async {
        do {
            let options = try Options(CommandLine.arguments.dropFirst())
            let report = Report()
            let app = try App(options, report)
            try await app.refuseInsecure()
            try await app.signInWithApple()
            try await app.signInWithGoogle()
            try await app.refresh()
            try await app.restart()
            try await app.refuse()
            try await app.endElsewhere()
            try await app.flip()
            try await app.migrate()
            try await app.manageAccount()
            if options.web == nil { report.skip("web sign-in: there is no --web") }
            if let name = options.web { try await app.signInOnTheWeb(as: name) }
            try await app.signOut()
            try await app.deleteAccount()
            print("done: \(report.checks) checks")
        } catch let error as Mismatch {
            fail("mismatch: \(error.sentence)")
        } catch {
            fail("\(error)")
        }
    }

    private static func fail(_ sentence: String) {
        FileHandle.standardError.write(Data("AppCLI: \(sentence)\n".utf8))
        exit(1)
    }
}

struct Options {
    var service = ""
    var sandbox = ""
    /// A folder for the session's file, empty at first.
    var folder = ""
    var appleClient = "com.example.lamp"
    var googleClient = "lamp-web.apps.googleusercontent.com"
    /// The app of `web.apps` to sign in as on the service's pages.
    var web: String?
    /// The OAuth client with Google's App Flip strings, to answer a consent with a code.
    var flip: String?

    init(_ arguments: some Sequence<String>) throws(Mismatch) {
        var words = Array(arguments)[...]
        while let name = words.popFirst() {
            guard let value = words.popFirst() else { throw Mismatch("\(name) needs a value") }
            switch name {
            case "--service": service = value
            case "--sandbox": sandbox = value
            case "--folder": folder = value
            case "--apple-client": appleClient = value
            case "--google-client": googleClient = value
            case "--web": web = value
            case "--flip": flip = value
            default: throw Mismatch("there is no option \(name)")
            }
        }
        guard !service.isEmpty, !sandbox.isEmpty, !folder.isEmpty else {
            throw Mismatch("--service URL, --sandbox URL and --folder PATH are needed")
        }
    }
}
