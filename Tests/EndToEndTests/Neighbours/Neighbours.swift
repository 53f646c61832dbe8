/// Tests with programs of others beside the service, such as proxies and connection poolers. `Scripts/test-neighbours` runs
/// them; `Scripts/test` leaves them out.
enum Neighbours {}
