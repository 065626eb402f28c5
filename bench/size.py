"""The base install in a fresh environment: megabytes on disk and packages. Needs only the standard library."""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_MB, MOST_PACKAGES = 150, 40


def main() -> int:
    """Install, measure, print JSON; 1 when a limit is passed."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        site = next((Path(folder) / "lib").glob("python*/site-packages"))
        before = _size(site)
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--require-hashes", "-r", str(ROOT / "requirements/base.txt")], check=True)
        # the package itself is copied, not built: building would bring hatchling in
        own = sum(f.stat().st_size for f in (ROOT / "src").rglob("*") if f.is_file() and "__pycache__" not in f.parts)
        size_mb = (_size(site) - before + own) / 1e6
        packages = 1 + sum(1 for d in site.glob("*.dist-info") if not d.name.startswith(("pip-", "setuptools-")))
    figures = {"size_mb": round(size_mb, 1), "packages": packages}
    print(json.dumps({"bench": "size", "figures": figures}))
    if size_mb > MOST_MB or packages > MOST_PACKAGES:
        print(f"the base install may have {MOST_MB} MB and {MOST_PACKAGES} packages", file=sys.stderr)
        return 1
    return 0


def _size(folder: Path) -> int:
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


if __name__ == "__main__":
    raise SystemExit(main())
