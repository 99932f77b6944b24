"""Compare requirements.lock with a database of vulnerabilities, by pip-audit.

Exit code 1 means that a vulnerability is known. Without the database the script says so and exits with 0, or with 1 if
`--strict` is given.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
AUDIT = ("tool", "run", "--quiet", "pip-audit==2.9.0", "--requirement", "requirements.lock", "--require-hashes")
OPTIONS = ("--disable-pip", "--progress-spinner", "off", "--format", "json", "--output")


def main() -> int:
    """Run the audit, and print its outcome."""
    uv = shutil.which("uv") or str(ROOT / ".boot" / "bin" / "uv")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [uv, *AUDIT, *OPTIONS, str(report)]
        errors = subprocess.run(command, cwd=ROOT, check=False, stderr=subprocess.PIPE, text=True).stderr.strip()
        text = report.read_text("utf-8") if report.exists() else ""
    packages: list[dict[str, Any]] = json.loads(text)["dependencies"] if text else []
    for package in packages:
        for vulnerability in package.get("vulns", []):
            fixes = ", ".join(vulnerability["fix_versions"]) or "none yet"
            print(f"{package['name']} {package['version']}: {vulnerability['id']}, fixed in {fixes}")
    if any(package.get("vulns") for package in packages):
        print("requirements.lock has known vulnerabilities. Run: make lock")
        return 1
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if skipped or not packages:
        count = f"{len(skipped)} of {len(packages)} packages" if packages else "requirements.lock"
        print(f"NOT AUDITED: {count}; the database of vulnerabilities cannot be reached, or does not know them.")
        if not packages and errors:
            print(errors.splitlines()[-1])
        return int("--strict" in sys.argv)
    print(f"requirements.lock: no vulnerability is known in {len(packages)} packages.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
