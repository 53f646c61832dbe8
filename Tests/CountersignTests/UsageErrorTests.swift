import Testing

/// Command lines that can't be meant: they are refused before anything is done.
@Suite struct UsageErrorTests {
    private static let endpoint = "http://127.0.0.1:1/v1/events/google"
    private static let november = "2026-11-01T00:00:00Z"

    /// A line, and how the sentence about it begins. Behind a space at its end is an empty word.
    @Test(
        arguments: [
            ("migrate up --to 0", "--to is a number from 1"),
            ("migrate up --to 9999", "--to is a number from 1"),
            ("migrate up --to=-1", "--to is a number from 1"),
            ("migrate down --steps 0", "--steps is a number from 1"),
            ("migrate new create", "a migration is called verb_object"),
            ("migrate new Create_accounts", "a migration is called verb_object"),
            ("events show", "Missing expected argument"),
            ("events show x", "the event is named by its id"),
            ("events replay 01A1FC41-9B43-7CEF-AC4A-000000000001", "the event is named by its id"),
            ("events list --limit 0", "--limit is a number from 1"),
            ("events list --status new", "The value 'new' is invalid"),
            ("events list --provider github", "The value 'github' is invalid"),
            ("events forget", "Unexpected argument 'forget'"),
            ("google risc register", "Missing expected argument '--url"),
            ("google risc register --url http://auth.example.com/", "--url is an https: URL"),
            ("google risc register --url auth.example.com", "--url is an https: URL"),
            (
                "google risc register --url \(endpoint) --events sessions-revokd",
                "The value 'sessions-revokd' is invalid"
            ),
            (
                "google risc register --url \(endpoint) --events consent-revoked",
                "The value 'consent-revoked' is invalid"
            ),
            ("google risc register --url \(endpoint) --events ", "The value '' is invalid"),
            ("google risc verify", "Missing expected argument '--state"),
            ("google risc verify --state ", "--state is a line"),
            ("google risc verify --state a\nb", "--state is a line"),
            ("google risc status --api-url http://risc.example", "--api-url is an https: URL"),
            ("google risc stop", "Unexpected argument 'stop'"),
            ("audit verify --since yesterday", "The value 'yesterday' is invalid"),
            ("audit verify --head 1", "The value '1' is invalid"),
            ("audit verify --head 1:12", "The value '1:12' is invalid"),
            ("audit verify --head x:0000000000000000", "The value 'x:0000000000000000' is invalid"),
            ("audit export", "Missing expected argument '--since"),
            ("audit export --since yesterday", "The value 'yesterday' is invalid"),
            ("audit export --since 2026-11-01T00:00:00+01:00", "The value '2026-11-01T00:00:00+01:00' is invalid"),
            ("audit export --since \(november) --until 2026-11-31T00:00:00Z", "The value '2026-11-31T00:00:00Z' is"),
            ("audit export --since \(november) --until \(november)", "--until has to be later than --since"),
            ("audit export --since \(november) more", "Unexpected argument 'more'"),
            ("audit drop-before 2026", "The value '2026' is invalid for '<month>'"),
            ("audit drop-before 2026-13", "The value '2026-13' is invalid for '<month>'"),
            ("audit drop-before 2026-1", "The value '2026-1' is invalid for '<month>'"),
            ("audit drop-before 26-01", "The value '26-01' is invalid for '<month>'"),
            ("audit drop-before 2026-01-01", "The value '2026-01-01' is invalid for '<month>'"),
            ("audit drop-before x", "The value 'x' is invalid for '<month>'"),
            ("audit drop-before 9000-01", "9000-01 has not begun"),
            ("token verify --provider microsoft x", "The value 'microsoft' is invalid for '--provider"),
            ("token verify x", "--provider apple or --provider google is needed"),
            ("token verify --signature-only x", "--provider apple or --provider google is needed"),
            ("token verify --provider apple --client-id  x", "--client-id is an audience"),
            (
                "token verify --provider apple --client-id a --at yesterday x",
                "The value 'yesterday' is invalid for '--at"
            ),
            (
                "token verify --provider apple --client-id a --at 2024-02-30T00:00:00Z x",
                "The value '2024-02-30T00:00:00Z' is invalid for '--at"
            ),
            ("token verify --provider apple --frobnicate x", "Unknown option '--frobnicate'"),
        ] as [(String, String)])
    func `a command line that can't be meant is refused in one sentence`(_ line: String, _ sentence: String) throws {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        let refusal = try #require(CountersignProcess.refusal(of: words))
        #expect(refusal.code == 2)
        #expect(refusal.message.hasPrefix("countersign: \(sentence)"), "\(refusal.message)")
        #expect(refusal.message.split(separator: "\n").count == 1, "\(refusal.message)")
    }
}
