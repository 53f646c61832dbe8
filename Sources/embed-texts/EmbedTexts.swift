import Foundation

/// `embed-texts DIRECTORY OUTPUT`: the build step that turns `Languages/*.json` into one Swift file.
@main
struct EmbedTexts {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard let directory = arguments.first, let output = arguments.last, arguments.count == 2 else {
            fail("usage: embed-texts DIRECTORY OUTPUT")
        }
        do {
            let languages = try LanguageDirectory(path: directory).languages()
            try Data(EmbeddedTexts.source(of: languages).utf8).write(to: URL(filePath: output), options: .atomic)
        } catch let fault as LanguageFileFault {
            // The form that build tools recognise as a diagnostic of that file.
            fail("\(fault.path): error: \(fault.sentence)")
        } catch {
            fail("\(directory): error: \(error.localizedDescription)")
        }
    }

    private static func fail(_ message: String) -> Never {
        FileHandle.standardError.write(Data((message + "\n").utf8))
        exit(1)
    }
}
