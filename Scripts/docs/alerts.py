"""The alerts and the dashboard of docs/operations. Read by lines; promtool, if installed, checks the rules in full."""
import json
import re
import shutil
import subprocess

from .tree import ROOT, compare, faults


def check():
    # An alert leads to its section of the runbook.
    operations = ROOT / "docs" / "operations"
    rules = (operations / "alerts.yml").read_text()
    alerts = re.findall(r"^      - alert: (\w+)$", rules, re.M)
    sections = re.findall(r"^### Alert (\w+)$", (operations / "runbook.md").read_text(), re.M)
    compare(alerts, "alerts.yml", sections, "runbook.md")
    anchors = re.findall(r"^          runbook_url: runbook\.md#alert-(\w+)$", rules, re.M)
    if anchors != [alert.lower() for alert in alerts]:
        faults.append("docs/operations/alerts.yml: each alert has the runbook_url of its own section")
    json.loads((operations / "grafana-dashboard.json").read_text())
    if shutil.which("promtool"):
        for command in ("check", "alerts.yml"), ("test", "alerts-test.yml"):
            run = subprocess.run(
                ["promtool", command[0], "rules", operations / command[1]], capture_output=True, text=True)
            if run.returncode:
                faults.append(f"docs/operations/{command[1]}: {run.stdout}{run.stderr}")
