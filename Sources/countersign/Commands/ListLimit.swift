import Accounts
import ArgumentParser

/// How much of a list is printed.
struct ListLimit: ParsableArguments {
    @Option(help: "How many, at most.") var limit = 50

    func validate() throws {
        guard 1...10_000 ~= limit else { throw ValidationError("--limit is a number from 1 to 10,000") }
    }
}

/// Reads a list page by page, as far as its end or so many items, or until what is printed can't be written. Says when it
/// ends before the list does.
///
/// - Parameter page: gets the cursor of the page, and how many items it may have.
func eachItem<Item, Cursor, Failure>(
    upTo count: Int = .max, pageSize: Int = 200,
    in page: (Cursor?, Int) async throws(Failure) -> Page<Item, Cursor>, do body: (Item) -> Void
) async throws(Failure) {
    var (cursor, left): (Cursor?, Int) = (nil, count)
    repeat {
        let found = try await page(cursor, min(left, pageSize))
        found.items.forEach(body)
        left -= found.items.count
        cursor = found.next
    } while cursor != nil && left > 0 && StandardOutput.isWhole
    if cursor != nil, left <= 0 { printNotice("the list ends at --limit (\(count)), and there may be more") }
}
