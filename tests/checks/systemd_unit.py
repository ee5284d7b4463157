"""Has systemd-analyze verify the unit of mixnetd, with the program that was built in its place.

argv: the unit, the program. Where systemd-analyze does not exist this check is not registered.
"""

import pathlib
import subprocess
import sys
import tempfile

INSTALLED = "/usr/bin/mixnetd"


def main(unit, program):
    text = unit.read_text(encoding="utf-8")
    if f"ExecStart={INSTALLED} " not in text:
        print(f"{unit}: ExecStart must start {INSTALLED}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / unit.name
        copy.write_text(text.replace(INSTALLED, str(program)), encoding="utf-8")
        command = ["systemd-analyze", "verify", "--man=no", str(copy)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    # Unknown keys are only warnings to systemd.
    findings = [line for line in done.stderr.splitlines() if unit.stem in line]
    print(*findings, sep="\n")
    print(f"systemd unit: exit code {done.returncode}, {len(findings)} findings")
    return 1 if done.returncode or findings else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
