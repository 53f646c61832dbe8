/// The `# HELP` lines: one sentence for each metric, by the name it has on the page. `docs/operations/metrics.md` has a row
/// for each, with what to do about it.
enum HelpTexts {
    static let all: [String: String] = [
        "countersign_audit_seal_failures_total":
            "Rounds of sealing the audit trail that failed.",
        "countersign_audit_unsealed_seconds":
            "Age of the oldest row of the audit trail that no seal covers yet.",
        "countersign_code_exchanges_total":
            "Authorization codes that were posted, by provider and outcome.",
        "countersign_configuration_last_reload_successful":
            "Whether the last reading of the configuration was adopted: 1 or 0.",
        "countersign_configuration_reloads_total":
            "Readings of the configuration after SIGHUP, by outcome.",
        "countersign_grant_checks_total":
            "Refresh tokens that the provider was asked about, by provider and outcome.",
        "countersign_http_request_seconds":
            "Time from a whole request to its answer, by route and method.",
        "countersign_http_requests_total":
            "Requests answered, by route, method and class of status.",
        "countersign_mail_send_seconds":
            "Time that the mail server took for a mail, taken or not.",
        "countersign_mails_oldest_seconds":
            "Age of the oldest mail that waits to be sent.",
        "countersign_mails_pending":
            "Mails that wait to be sent.",
        "countersign_mails_total":
            "Mails that were dealt with, by outcome.",
        "countersign_metrics_refused_total":
            "Attempts to make a metric that were refused: too many series, or a name in use for another kind.",
        "countersign_outbox_oldest_seconds":
            "Age of the oldest revocation that waits in the outbox.",
        "countersign_outbox_pending":
            "Revocations that wait in the outbox.",
        "countersign_provider_events_total":
            "Events that the providers told, by provider, kind and what became of them.",
        "countersign_revocation_attempts_total":
            "Revocations tried at the provider, by provider and outcome.",
        "process_cpu_seconds_total":
            "CPU time used by the process, in user and in system mode.",
        "process_max_fds":
            "File descriptors that the process may have open.",
        "process_open_fds":
            "File descriptors that the process has open.",
        "process_resident_memory_bytes":
            "Memory of the process that is in RAM.",
        "process_start_time_seconds":
            "When the process started, in seconds since 1970.",
    ]
}
